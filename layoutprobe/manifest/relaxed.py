"""What one manifest asks less than another: every relaxation, in words.

A pull request may change the manifest along with the kernel that it judges. What makes it judge less, or
something else, has to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutprobe.manifest.model import (
    Argument,
    Expression,
    KernelCase,
    Limits,
    Manifest,
    Tolerance,
    size_title,
)

_MOST = ("vgprs", "sgprs", "lds", "scratch", "spills", "bank_conflicts")
"""Limits from above; occupancy is one from below."""
_SAME = (
    "code_object", "source", "symbol", "flags", "defines", "include", "grid", "block", "dynamic_lds", "contract",
    "seed", "tile", "after",
)  # fmt: skip
"""What is to be the same: another one may be right, and somebody has to look."""


def relaxations(base: Manifest, now: Manifest) -> tuple[str, ...]:
    """Each in a few words, kernel by kernel.

    Args:
        base: what was asked before.
        now: what is asked.
    """
    kept = {case.name: case for case in now.kernels}
    said: list[str] = []
    for case in base.kernels:
        if case.name not in kept:
            said.append(f"kernel {case.name} is dropped")
            continue
        said += [f"{case.name}: {text}" for text in _of_kernel(case, kept[case.name], base, now)]
    return tuple(said)


def _of_kernel(old: KernelCase, new: KernelCase, base: Manifest, now: Manifest) -> Iterator[str]:
    for size in old.sizes:
        if size not in new.sizes:
            yield f"size {size_title(size)} is dropped"
    for arch in old.arches:
        if new.arches and arch not in new.arches:
            yield f"target {arch} is dropped"
    for name, step in new.multiple.items():
        if old.multiple.get(name, 1) % step:
            yield f"only multiples of {step} of {name} are asked for"
    for condition in new.where:
        if condition.text not in [one.text for one in old.where]:
            yield f"only sizes with {condition.text} are asked for"
    yield from _checks(old, new)
    yield from _tolerance(old.tolerance, new.tolerance, "")
    yield from _limits(old.limits, new.limits)
    for name in _SAME:
        before, after = _comparable(old, name, base), _comparable(new, name, now)
        if before != after and not (name == "tile" and not old.tile):  # one that is new tells more than none
            yield f"{name} is another: {_short(before)} before, {_short(after)} now"
    yield from _arguments(old.arguments, new.arguments)
    for argument in new.arguments:
        own = next((one.tolerance for one in old.arguments if one.name == argument.name), None)
        if argument.tolerance != own:
            given = own or old.tolerance, argument.tolerance or new.tolerance
            yield from _tolerance(*given, f" of {argument.name}")


def _checks(old: KernelCase, new: KernelCase) -> Iterator[str]:
    if new.checks:
        lost = [name for name in old.checks if name not in new.checks]
        if not old.checks:
            yield f"only {', '.join(new.checks)} are asked for, all checks before"
        elif lost:
            yield f"not asked for any more: {', '.join(lost)}"
    for name, why in new.skip.items():
        if name not in old.skip:
            yield f"{name} is skipped: {why}"
    if new.bears is not None and old.bears is None:
        yield f"unusual inputs are those that it bears ({', '.join(new.bears) or 'none'}), all kinds before"
    for kind in old.bears or ():
        if kind not in (new.bears or ()):
            yield f"it need not bear {kind!r} any more"
    for name in new.fixed:
        if name not in old.fixed:
            yield f"{name} has no other value"
    known = {(one.rule, one.line, one.arch): one.until for one in old.accept}
    for one in new.accept:
        key = (one.rule, one.line, one.arch)
        if key not in known:
            yield f"{one.rule} at {one.line or 'no line'} is accepted until {one.until}: {one.reason}"
        elif one.until > known[key]:
            yield f"{one.rule} at {one.line or 'no line'} is accepted until {one.until}, {known[key]} before"


def _tolerance(old: Tolerance, new: Tolerance, of: str) -> Iterator[str]:
    for name in ("absolute", "relative"):
        before, after = getattr(old, name), getattr(new, name)
        if after is not None and (before is None or after > before):
            chosen = "chosen by the check" if before is None else f"{before:g}"
            yield f"{name} tolerance{of} {after:g}, {chosen} before"
        if after is None and before is not None:
            yield f"{name} tolerance{of} chosen by the check, {before:g} before"


def _limits(old: Limits, new: Limits) -> Iterator[str]:
    for name in (*_MOST, "occupancy"):
        before, after = getattr(old, name), getattr(new, name)
        if before is None:
            continue
        looser = after is None or (after < before if name == "occupancy" else after > before)
        if looser:
            yield f"limit on {name} {'none' if after is None else f'{after:g}'}, {before:g} before"


def _arguments(old: Sequence[Argument], new: Sequence[Argument]) -> Iterator[str]:
    if [a.name for a in old] != [a.name for a in new]:
        yield f"arguments are others: {', '.join(a.name for a in old)} before, {', '.join(a.name for a in new)} now"
        return
    for before, after in zip(old, new, strict=True):
        for field in Argument.__struct_fields__:
            was, now = _plain(getattr(before, field)), _plain(getattr(after, field))
            if was != now and field != "tolerance":
                yield f"argument {before.name} has another {field}: {_short(was)} before, {_short(now)} now"


def _comparable(case: KernelCase, name: str, manifest: Manifest) -> object:
    """A key's value; paths relative to their manifest."""
    text = repr(_plain(getattr(case, name)))
    return text.replace(repr(str(manifest.path.parent))[1:-1] + "/", "")


def _plain(value: object) -> object:
    if isinstance(value, Expression):
        return value.text
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
