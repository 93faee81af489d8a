"""Reads layoutprobe.toml. docs/manifest.md describes the keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec.structs import replace

from layoutprobe import arch
from layoutprobe.errors import UsageError, did_you_mean
from layoutprobe.manifest.acceptances import read_acceptances
from layoutprobe.manifest.arguments import read_arguments, read_contract, read_tolerance
from layoutprobe.manifest.binding import OversizedError, bind
from layoutprobe.manifest.flags import refused_flag
from layoutprobe.manifest.model import (
    BLOCK,
    Argument,
    Expression,
    KernelCase,
    Limits,
    Manifest,
    NoContract,
    Sizes,
    shared_buffers,
)
from layoutprobe.manifest.section import Section, guessed_lines, load_bytes, load_toml
from layoutprobe.manifest.sizes import read_sizes, read_where, require_extents
from layoutprobe.manifest.unusual import UNUSUAL, unusual_of
from layoutprobe.patterns.expression import Number

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+/ -]{0,63}"
_SYMBOL = r"[^\s\0]{1,1000}"
_MAX_WORK = 20_000
_ONE, _NONE = Expression("1", Number(1)), Expression("0", Number(0))


def read_manifest(
    path: Path,
    *,
    checks: Collection[str] | None = None,
    rules: Collection[str] = (),
    data: bytes | None = None,
) -> Manifest:
    """A manifest, with every expression parsed and evaluated once at every size.

    Args:
        path: the file.
        checks: names that `checks` and `skip` may use; None accepts any.
        rules: ids that `skip` may use besides, and `accept`; any where empty.
        data: its bytes, where they are not those of the file.

    Raises:
        UsageError: whatever is wrong with it, with file, key and what is allowed.
    """
    raw = load_bytes(path) if data is None else data
    top = Section(load_toml(raw, path), path)
    defaults = top.get("defaults")
    if defaults is None:
        defaults = {}
    if not isinstance(defaults, dict) or "name" in defaults:
        top.fail("defaults", "a table of keys that all kernels share, without `name`")
    if not top.has("kernel"):
        top.fail("kernel", "at least one [[kernel]] table", "`layoutprobe init KERNEL` writes one")
    tables, guessed = top.tables("kernel", least=1), guessed_lines(raw)
    top.finish()
    kernels: list[KernelCase] = []
    work = 0
    for table in tables:
        section = Section({k: table.get(k) for k in table}, path, table.name, defaults)
        case = _kernel(section, path.parent, checks, rules, kernels)
        if any(case.name == known.name for known in kernels):
            section.fail("name", "a name that no other kernel of the manifest has")
        work += len(case.sizes) * (len(case.arguments) + 1)
        if work > _MAX_WORK:
            section.fail("sizes", f"sizes times arguments of all kernels together below {_MAX_WORK}")
        for sizes in case.sizes:
            _bound(case, sizes, path)
        kernels.append(case)
    _require_known(Section(defaults, path, "defaults"), kernels)
    if len(guessed) == len(kernels):  # they may be written in other ways
        kernels = [replace(case, guessed=lines) for case, lines in zip(kernels, guessed, strict=True)]
    judged_by = {
        one.name: case.name
        for case in kernels
        if not isinstance(case.contract, NoContract)
        for one in case.before
    }
    kernels = [replace(case, judged_by=judged_by.get(case.name, "")) for case in kernels]
    return Manifest(path, tuple(kernels))


def _bound(case: KernelCase, sizes: Sizes, path: Path) -> None:
    try:
        bind(case, sizes)
    except OversizedError:
        pass  # said again when this kernel is checked
    except UsageError as error:
        error.where = {"file": path, **error.where}
        raise


def _kernel(
    table: Section,
    folder: Path,
    checks: Collection[str] | None,
    rules: Collection[str],
    known: Sequence[KernelCase],
) -> KernelCase:
    name = table.text("name", "a name of up to 64 letters, digits and . _ + / -", _NAME)
    source, code_object = _file(table, folder)
    sizes, tile, multiple = read_sizes(table)
    names = tuple(sizes[0])
    where, sizes = read_where(table, sizes)
    after, before = _before(table, names, known)
    arguments = _made(read_arguments(table, names), before)
    require_extents(table, sizes, arguments)
    case = KernelCase(
        name=name,
        source=source,
        code_object=code_object,
        symbol=table.text("symbol", "the name of a kernel in the code object", _SYMBOL, ""),
        flags=_flags(table),
        defines=_defines(table),
        include=tuple(folder / p for p in table.strings("include", "directories")),
        arches=() if code_object else _arches(table),
        grid=_extents(table, "grid", names),
        block=_extents(table, "block", names),
        dynamic_lds=table.expression("dynamic_lds", names) or _NONE,
        arguments=arguments,
        contract=read_contract(table, (*arguments, *shared_buffers(before, arguments)), folder),
        sizes=sizes,
        tile=tile,
        multiple=multiple,
        where=where,
        accept=read_acceptances(table, rules),
        limits=_limits(table.table("limits")),
        tolerance=read_tolerance(table.table("tolerance")),
        checks=_check_names(table, checks),
        skip=_skip(table.table("skip"), checks, rules),
        seed=table.maybe_integer("seed", 0, (1 << 63) - 1) or 0,
        bears=_bears(table, arguments),
        fixed=_fixed(table, arguments),
        after=after,
        before=before,
    )
    table.finish()
    return case


def _before(
    table: Section, sizes: tuple[str, ...], known: Sequence[KernelCase]
) -> tuple[tuple[str, ...], tuple[KernelCase, ...]]:
    """The kernels that are launched before one, as named, and with those that are launched before them."""
    names = table.strings("after", "names of kernels")
    cases = {case.name: case for case in known}
    found: dict[str, KernelCase] = {}
    for name in names:
        if name not in cases:
            listed = ", ".join(cases) or "there is none"
            table.fail("after", f"kernels that stand above in the manifest: {listed}")
        for case in (*cases[name].before, cases[name]):
            if set(case.sizes[0]) != set(sizes):
                table.fail("after", f"kernels whose sizes have the same names: {', '.join(sizes) or 'none'}")
            found[case.name] = case
    return names, tuple(found.values())


def _made(arguments: tuple[Argument, ...], before: Sequence[KernelCase]) -> tuple[Argument, ...]:
    """Arguments, of which it is known whether a launch before stores them."""
    stored = {a.name for case in before for a in case.arguments if a.role in ("out", "inout")}
    return tuple(replace(a, made=a.is_buffer and a.role != "out" and a.name in stored) for a in arguments)


def _file(table: Section, folder: Path) -> tuple[Path | None, Path | None]:
    source = table.text("source", "the path of a HIP source or of assembly", r"[^\0]+", "")
    code_object = table.text("code_object", "the path of a code object", r"[^\0]+", "")
    if bool(source) == bool(code_object):
        key = "source" if not source else "code_object"
        table.fail(key, "either `source` or `code_object`, and not both")
    if code_object:
        for key in ("flags", "defines", "include", "arch"):
            if table.has(key) and table.key(key) != f"defaults.{key}":
                table.fail(key, "no such key beside `code_object`: it is compiled already")
            table.get(key)
    return (folder / source if source else None), (folder / code_object if code_object else None)


def _extents(table: Section, key: str, names: tuple[str, ...]) -> tuple[Expression, Expression, Expression]:
    given = [*table.expressions(key, names, 1, 3), _ONE, _ONE]
    return given[0], given[1], given[2]


def _flags(table: Section) -> tuple[str, ...]:
    flags = table.strings("flags", "compiler flags")
    refused = refused_flag(flags)
    if refused is not None:
        table.fail(
            "flags",
            f"flags for code generation, warnings and language; {refused[:80]!r} is none of them",
            "use `include` and `defines`; a flag that loads or writes files is refused, as a manifest "
            "may come from a stranger",
        )
    return flags


def _defines(table: Section) -> dict[str, str]:
    defines = table.table("defines")
    result = {}
    for name in defines:
        value = defines.get(name)
        good = type(value) in (int, str) and len(str(value)) <= 200 and "\0" not in str(value)
        if not name.isidentifier() or not good:
            defines.fail(name, "an identifier with a number or a text")
        result[name] = str(value)
    return result


def _arches(table: Section) -> tuple[str, ...]:
    value = table.get("arch")
    if value is None:
        return (arch.DEFAULT,)
    targets = tuple(arch.TARGETS)
    listed = table.strings("arch", "targets") if isinstance(value, list) else (value,)
    for name in listed:
        if not isinstance(name, str) or name not in targets:
            table.fail("arch", "one or more of " + ", ".join(targets), did_you_mean(name, targets))
    if not listed or len(set(listed)) != len(listed):
        table.fail("arch", "every target once")
    return listed


def _bears(table: Section, arguments: Sequence[Argument]) -> tuple[str, ...] | None:
    """Kinds of inputs that are not usual."""
    if not table.has("bears"):
        return None
    kinds = table.strings("bears", "kinds of inputs")
    inputs = [one.name for one in arguments if one.role in ("in", "inout")]
    for kind in kinds:
        found = unusual_of(kind)
        if found is None or found[1] not in ("", *inputs):
            known = [f"{word}{what.usage}" for word, what in UNUSUAL.items()]
            table.fail("bears", f"some of {', '.join(known)}; inputs are {', '.join(inputs) or 'none'}")
    return kinds


def _fixed(table: Section, arguments: Sequence[Argument]) -> tuple[str, ...]:
    """Scalar arguments that have one value, or follow the sizes, whoever launches the kernel; and its block. Of those
    that all kernels share, as many as this one has."""
    names = table.strings("fixed", "names of scalar arguments")
    known = [*_scalars(arguments), BLOCK]
    if table.is_shared("fixed"):
        return tuple(name for name in names if name in known)
    for name in names:
        if name not in known:
            table.fail("fixed", f"some of {', '.join(known)}", did_you_mean(name, known))
    return names


def _require_known(defaults: Section, kernels: Sequence[KernelCase]) -> None:
    """Names in `fixed` of all kernels are those of a scalar argument of one, at least."""
    known = list(dict.fromkeys([*(name for case in kernels for name in _scalars(case.arguments)), BLOCK]))
    for name in defaults.strings("fixed", "names of scalar arguments"):
        if name not in known:
            defaults.fail("fixed", f"some of {', '.join(known)}", did_you_mean(name, known))


def _scalars(arguments: Sequence[Argument]) -> list[str]:
    return [one.name for one in arguments if one.role == "scalar"]


def _limits(table: Section) -> Limits:
    most = 1 << 20
    limits = Limits(
        vgprs=table.maybe_integer("vgprs", 0, most),
        sgprs=table.maybe_integer("sgprs", 0, most),
        lds=table.maybe_integer("lds", 0, most),
        scratch=table.maybe_integer("scratch", 0, 1 << 30),
        spills=table.maybe_integer("spills", 0, most),
        occupancy=table.maybe_integer("occupancy", 1, 32),
        bank_conflicts=table.number("bank_conflicts", 1, 1024),
        instructions=table.maybe_integer("instructions", 1, 1 << 32),
        seconds=table.maybe_integer("seconds", 1, 3600) or Limits().seconds,
    )
    table.finish()
    return limits


def _check_names(table: Section, known: Collection[str] | None) -> tuple[str, ...]:
    names = table.strings("checks", "names of checks")
    for name in names:
        if known is not None and name not in known:
            table.fail("checks", "some of " + ", ".join(known))
    if table.has("checks") and not names:
        table.fail("checks", "at least one check; leave the key out for all")
    return names


def _skip(table: Section, known: Collection[str] | None, rules: Collection[str]) -> dict[str, str]:
    skip = {}
    for name in list(table):
        if known is not None and name not in known and name not in rules:
            table.get(name)
            near = did_you_mean(name, [*known, *rules])
            table.fail(name, "a check, or the rule of a finding; checks: " + ", ".join(known), near)
        skip[name] = table.text(name, "why it is waived", r"(?s)\s*\S.*")
    return skip
