"""Launches in the host code of a kernel's file: grid, block, LDS and arguments, as expressions of a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from layoutprobe.codeobj.parameters import Parameter
from layoutprobe.drafting.host_declarations import closing, listed, split
from layoutprobe.drafting.host_reals import real
from layoutprobe.drafting.host_text import Scope, TooLongError, instances, opened, read_text, scope_at
from layoutprobe.errors import UsageError
from layoutprobe.patterns.expression import evaluate, parse

_CHEVRON = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<((?:[^<>;]|<[^<>;]*>)*)>)?\s*<<<")
_CALL = re.compile(
    r"\b(hipLaunchKernelGGL|hipExtLaunchKernelGGL|hipLaunchCooperativeKernel|hipLaunchKernel|hipModuleLaunchKernel)"
    r"\s*\("
)
_ADDRESS = re.compile(r"([A-Za-z_]\w*)\s*(?:<((?:[^<>;]|<[^<>;]*>)*)>)?[\s)]*$")
"""The function behind casts, whose address is taken."""
_ADDRESSED = ("hipLaunchKernel", "hipLaunchCooperativeKernel")
_NAMED = re.compile(r"(?:HIP_KERNEL_NAME)?[\s(&]*([A-Za-z_][\w:]*)\s*(?:<((?:[^<>;]|<[^<>;]*>)*)>)?")
_DIM3 = re.compile(r"\(*\s*dim3\s*[({](.*)[)}]\s*\)*", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_NEEDLESS = re.compile(r"(?<!\w)\((\w+)\)|(?<=\()\(([^()]*)\)(?=\))")
_MOST_SITES, _MOST_NAMES, _DEEPEST = 32, 256, 16
_FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?[fF]?")
_ARGUMENT = re.compile(r"(-?\d+)[uUlL]*|true|false")
"""Of a template, in the name of an instance: a number."""
_AXES = "xyz"
_NO_NAMES = {"nullptr", "NULL", "true", "false"}
_SKIPPED = {"hipLaunchKernelGGL": 5, "hipExtLaunchKernelGGL": 8}
"""Arguments of a macro before those of the kernel."""


class LaunchSite(Struct, frozen=True):
    """One launch.

    Attributes:
        kernel: its name in the source, without types; "" where the host asks for it by other means.
        grid, block: in x, y, z; an extent of the grid that cannot be read is a name of its own, "grid_z".
        dynamic_lds: bytes.
        arguments: in order; "" for one that is no expression of integers and no number with a point.
        members: "p.M", or "p.3" by its number, of a structure that is an argument -> its value; "p.problem[0].a" or
            "p.0.0.2" where it holds others.
        block_at: where in the text the block of code begins that it stands in.
        listed: the one argument is an array of the addresses of all.
        seen: host code makes it; else it is a guess.
        types: arguments of the kernel's template, as the launch has them.
    """

    kernel: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    dynamic_lds: str
    arguments: tuple[str, ...]
    members: Mapping[str, str] = field(default_factory=dict)
    block_at: int = 0
    listed: bool = False
    seen: bool = True
    types: tuple[str, ...] = ()

    def taken_apart(self, parameters: Sequence[Parameter]) -> LaunchSite:
        """The launch with a value for each member of a structure, as the kernel's parameters have them."""
        if len(parameters) != len(self.arguments):
            return self
        values: list[str] = []
        for name, parameter in zip(self.arguments, parameters, strict=True):
            for _, one in parameter.members:
                told = (self.members.get(f"{name}.{key}", "") for key in one.keys)
                values.append(next(filter(None, told), ""))
            if not parameter.members:
                values.append(name)
        return replace(self, arguments=tuple(values), members={})

    def number(self, argument: int) -> float | None:
        """What the host code writes for an argument, where that is a number with a point."""
        text = self.arguments[argument]
        return float(text.rstrip("fF")) if _FLOAT.fullmatch(text) else None

    @property
    def names(self) -> tuple[str, ...]:
        """What it depends on, in the order of the arguments."""
        given = (one for one in self.arguments if not _FLOAT.fullmatch(one))
        texts = (*given, *self.grid, *self.block, self.dynamic_lds)
        found = (name for text in texts for name in _PLAIN.findall(text))
        return tuple(dict.fromkeys(name for name in found if name not in ("if", "else")))


def launch_sites(source: Path) -> tuple[LaunchSite, ...]:
    """The launches in a source and the files that it includes by names in quotes, that could be read."""
    return sites_in(read_text(source))


def sites_in(text: str, called: str = "") -> tuple[LaunchSite, ...]:
    """The launches in a text that could be read: all of them, or those of a kernel, whose full name says of which
    template it is an instance; with names as that instance has them, and those of other instances last."""
    name, _, given = called.partition("<")
    wanted = listed(given.rpartition(">")[0])
    found = []
    for at, raw in islice(_raw(text), _MOST_SITES):
        if not called or raw.kernel in (name, ""):
            scope, others = _as_instance(scope_at(text, at), raw.types, wanted, instances(text, at))
            site = _resolved(raw, scope)
            found += [(others, replace(site, block_at=opened(text, at)))] if site is not None else []
    return tuple(site for _, site in sorted(found, key=lambda one: one[0]))


def _as_instance(
    scope: Scope, types: Sequence[str], wanted: Sequence[str], calls: Iterable[Mapping[str, str]]
) -> tuple[Scope, int]:
    """A scope with the parameters of its template as a call has them that makes an instance of the kernel, as far as
    its arguments are numbers, and how many of these are others."""
    ways = [replace(scope, values={**scope.values, **call}) for call in calls] or [scope]
    best = min(ways, key=lambda way: len(_others(way, types, wanted)))
    told = {name: value for name, value in _others(best, types, wanted) if _PLAIN.fullmatch(name)}
    told = {name: value for name, value in told.items() if name not in _NO_NAMES}
    best = replace(best, values={**best.values, **told})
    return best, len(_others(best, types, wanted))


def _others(scope: Scope, types: Sequence[str], wanted: Sequence[str]) -> list[tuple[str, str]]:
    """Arguments of a template that are other numbers than these, with what they should be."""
    return [
        (given, number[1] or number[0])
        for given, one in zip(types, wanted, strict=False)
        if (number := _ARGUMENT.fullmatch(one))
        and _value_of(scope, given) not in ("", number[1] or number[0])
    ]


def _value_of(scope: Scope, text: str) -> str:
    """Of an expression of constants, as a template's argument has it; "" where it cannot be told."""
    try:
        expanded = _expression(scope, text) or scope.expanded(text)
    except TooLongError:
        return ""
    if expanded in ("true", "false"):
        return expanded
    try:
        return str(int(evaluate(parse(expanded, ()), {})))
    except UsageError:
        return "?" if _PLAIN.fullmatch(expanded) else ""


def _raw(text: str) -> Iterator[tuple[int, LaunchSite]]:
    """Each launch as it is written, with its place."""
    for found in _CHEVRON.finditer(text):
        end = text.find(">>>", found.end())
        opened = text.find("(", end)
        if end < 0 or opened < 0:
            continue
        given = split(text[found.end() : end])
        if len(given) >= 2:
            arguments = split(text[opened + 1 : closing(text, opened)])
            lds = given[2] if len(given) > 2 else "0"
            types = tuple(listed(found[2] or ""))
            site = LaunchSite(found[1], (given[0],), (given[1],), lds, tuple(arguments), types=types)
            yield found.start(), site
    for found in _CALL.finditer(text):
        given = _whole_first(split(text[found.end() : closing(text, found.end() - 1)]))
        name = _NAMED.match(given[0]) if given else None
        if found[1] == "hipModuleLaunchKernel" and len(given) >= 10:
            yield (
                found.start(),
                LaunchSite("", tuple(given[1:4]), tuple(given[4:7]), given[7], (given[9],), listed=True),
            )
        elif found[1] in _ADDRESSED and len(given) >= 5 and (called := _ADDRESS.search(given[0])):
            types = tuple(listed(called[2] or ""))
            site = LaunchSite(
                called[1], (given[1],), (given[2],), given[4], (given[3],), listed=True, types=types
            )
            yield found.start(), site
        elif name and found[1] in _SKIPPED and len(given) >= _SKIPPED[found[1]]:
            kernel = name[1].rpartition("::")[2]
            rest = tuple(given[_SKIPPED[found[1]] :])
            types = tuple(listed(name[2] or ""))
            yield found.start(), LaunchSite(kernel, (given[1],), (given[2],), given[3], rest, types=types)


def _whole_first(given: list[str]) -> list[str]:
    """Arguments of a call, the first of which may be an instance of a template that has some itself."""
    while len(given) > 1 and given[0].count("<") > given[0].count(">"):
        given = [f"{given[0]}, {given[1]}", *given[2:]]
    return given


def _resolved(raw: LaunchSite, scope: Scope) -> LaunchSite | None:
    """A launch in names that nothing more is known of; None where its grid or block cannot be read.

    What goes to the kernel as a mere name is a size, also where this host code gives it a number.
    """
    arguments = raw.arguments
    if raw.listed:
        listed = re.search(r"\{(.*)\}", scope.values.get(arguments[0], ""), re.DOTALL)
        arguments = tuple(one.strip("& ") for one in split(listed[1])) if listed else ()
    plain = {one for one in arguments if _PLAIN.fullmatch(one)}
    structures = tuple(f"{one}." for one in plain)
    members = {
        name: text for name, text in scope.values.items() if structures and name.startswith(structures)
    }
    plain |= {text for text in members.values() if _PLAIN.fullmatch(text)}
    texts = (*raw.grid, *raw.block, raw.dynamic_lds, *arguments, *members.values())
    opaque = _opaque(scope, texts)
    known = replace(scope, kept=opaque)
    plain = {
        one
        for one in plain - scope.fixed
        if not _PLAIN.search(_expression(known, scope.values.get(one, "")) or "1")
    }
    scope = replace(scope, kept=opaque | plain)
    grid, block = _extent(scope, raw.grid), _extent(scope, raw.block)
    lds = _expression(scope, raw.dynamic_lds)
    if None in block or not any(grid):
        return None
    values = tuple(_number(scope, one) or _expression(scope, one) or "" for one in arguments)
    told = {name: _number(scope, one) or _expression(scope, one) or "" for name, one in members.items()}
    named = tuple(one or f"grid_{axis}" for one, axis in zip(grid, _AXES, strict=True))
    return LaunchSite(raw.kernel, named, tuple(one or "" for one in block), lds or "0", values, told)


def _opaque(scope: Scope, texts: Sequence[str]) -> frozenset[str]:
    """Names in the texts whose definition is no expression: what a tensor says, or the command line."""
    waiting, seen = list(texts), set[str]()
    while waiting and len(seen) < _MOST_NAMES:
        for name in _PLAIN.findall(waiting.pop()):
            if name in scope.values and name not in seen:
                seen.add(name)
                waiting.append(scope.values[name])
    opaque: frozenset[str] = frozenset()
    for _ in range(_DEEPEST):  # what is computed of such a name is an expression of it
        known = replace(scope, kept=opaque)
        failing = {name for name in seen - opaque if _expression(known, scope.values[name]) is None}
        innermost = {n for n in failing if not failing & {*_PLAIN.findall(scope.values[n])} - {n}}
        if not failing:
            break
        opaque |= innermost or failing
    return opaque


def _extent(scope: Scope, given: Sequence[str]) -> tuple[str | None, ...]:
    """Three expressions from a number, a dim3, or the name of one; None for one that cannot be read."""
    parts = list(given)
    if len(parts) == 1:
        (text,) = parts
        if f"{text}.x" in scope.values and text not in scope.values:
            parts = [scope.values.get(f"{text}.{axis}", "1") for axis in _AXES]
        else:
            whole = scope.values.get(text, text)
            found = _DIM3.fullmatch(whole.strip())
            listed = whole.strip().startswith("{")
            if text in scope.kept and not found and not listed:  # one number that only the host knows
                whole = text
            parts = split(found[1]) if found else split(whole.strip()[1:-1]) if listed else [whole]
    return tuple(_expression(scope, part) for part in [*parts, "1", "1"][:3])


def _number(scope: Scope, text: str) -> str:
    """A number with a point, as it is written or as constants give it; "" for anything else."""
    found = scope.values.get(text, text).strip()
    if _FLOAT.fullmatch(found):
        return found
    try:
        value = real(scope.expanded(found))
    except TooLongError:
        return ""
    return "" if value is None else repr(value)


def _expression(scope: Scope, text: str) -> str | None:
    """As a manifest writes it; None for what is no expression of integers."""
    try:
        expanded = scope.expanded(text)
    except TooLongError:
        return None
    names = [name for name in dict.fromkeys(_PLAIN.findall(expanded)) if name not in ("if", "else")]
    if not expanded or set(names) & _NO_NAMES:
        return None
    try:
        parse(expanded, tuple(names))
    except UsageError:
        return None
    return _bare(expanded)


def _bare(text: str) -> str:
    """Without brackets around the whole, or around a name."""
    while (shorter := _NEEDLESS.sub(r"\1\2", text)) != text:
        text = shorter
    while text.startswith("(") and closing(text, 0) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def renamed(site: LaunchSite, names: Mapping[str, str]) -> LaunchSite:
    """The site with other names for its sizes."""

    def told(text: str) -> str:
        return (
            text if _FLOAT.fullmatch(text) else _PLAIN.sub(lambda found: names.get(found[0], found[0]), text)
        )

    return LaunchSite(
        site.kernel, tuple(map(told, site.grid)), tuple(map(told, site.block)), told(site.dynamic_lds),
        tuple(map(told, site.arguments)), seen=site.seen,
    )  # fmt: skip
