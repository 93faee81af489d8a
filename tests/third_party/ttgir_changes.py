"""TTGIR with one attribute changed, as a compiler would still write it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct


class Change(Struct, frozen=True):
    """One attribute, changed.

    Attributes:
        attribute: its name, as "amd_mfma.warpsPerCTA".
        what: from what to what.
        text: the TTGIR.
    """

    attribute: str
    what: str
    text: str


def changes(text: str) -> Iterator[Change]:
    """Every change of this text."""
    for found in re.finditer(r"^#(\w+) = #ttg\.(\w+)<.*$", text, re.M):
        name, kind, line = found[1], found[2], found[0]
        used = text.count(f"#{name}>") + text.count(f"parent = #{name},") + text.count(f"#{name},")
        if kind in _LINES and used and (not name.startswith("shared") or _loaded(text, name)):
            for attribute, new in _LINES[kind](line):
                if new != line:
                    yield Change(f"{kind}.{attribute}", f"{line} -> {new}", text.replace(line, new))
    for operand in sorted(set(re.findall(r"opIdx = \d, parent = #\w+, kWidth = \d+", text))):
        begin, _, width = operand.rpartition(" ")
        for other in (int(width) * 2, int(width) // 2):
            yield Change("dot_op.kWidth", f"{operand} -> {other}", text.replace(operand, f"{begin} {other}"))


def _loaded(text: str, name: str) -> bool:
    """Whether operands are loaded from such a tile."""
    return re.search(rf"ttg\.local_load .*#{name},.*#ttg\.dot_op<", text) is not None


def _numbers(line: str, key: str) -> list[int]:
    found = re.search(rf"\b{key} = \[?([\d, ]+)\]?", line)
    assert found, (line, key)
    return [int(x) for x in found[1].rstrip(", ").split(",")]


def _with(line: str, key: str, value: object) -> str:
    return re.sub(rf"\b{key} = (?:\[[\d, ]+\]|\w+)", f"{key} = {value}", line)


def _flag(line: str, key: str) -> str:
    return _with(line, key, "false" if f"{key} = true" in line else "true")


def _mfma(line: str) -> Iterator[tuple[str, str]]:
    (version,), (rows, cols), (m, n, k) = (
        _numbers(line, key) for key in ("version", "warpsPerCTA", "instrShape")
    )
    yield "version", _with(line, "version", 7 - version)
    yield "isTransposed", _flag(line, "isTransposed")
    if rows != cols:
        yield "warpsPerCTA", _with(line, "warpsPerCTA", [cols, rows])
    elif rows > 1:
        yield "warpsPerCTA", _with(line, "warpsPerCTA", [rows * cols, 1])
        yield "warpsPerCTA", _with(line, "warpsPerCTA", [1, rows * cols])
    yield "instrShape", _with(line, "instrShape", [m // 2, n // 2, k * 2] if m == 32 else [32, 32, k // 2])
    yield "instrShape", _with(line, "instrShape", [m, n, k * 2])
    for tiles in ([2, 1], [1, 2]):
        yield "tilesPerWarp", line.replace("instrShape", f"tilesPerWarp = {tiles}, instrShape")


def _wmma(line: str) -> Iterator[tuple[str, str]]:
    yield "version", _with(line, "version", 2)
    yield "isTranspose", _flag(line, "isTranspose")
    yield "instrShape", line.replace("isTranspose", "instrShape = [16, 16, 32], isTranspose")
    if found := re.search(r"warp = \[(.*?\])\]", line):
        bases = [f"[{x}]" for x in re.findall(r"\d, \d", found[1])]
        turned = [f"[{x[::-1]}]" for x in re.findall(r"\d, \d", found[1])]
        yield "ctaLayout", line.replace(found[0], f"warp = [{', '.join(bases[::-1])}]")
        yield "ctaLayout", line.replace(found[0], f"warp = [{', '.join(turned)}]")


def _swizzled(line: str) -> Iterator[tuple[str, str]]:
    for key in ("vec", "perPhase", "maxPhase"):
        (value,) = _numbers(line, key)
        yield key, _with(line, key, value * 2)
        if value > 1:
            yield key, _with(line, key, value // 2)
    yield "order", _with(line, "order", _numbers(line, "order")[::-1])
    kinds = ["swizzled_shared", "amd_rotating_shared"]
    old, new = kinds if kinds[0] in line else kinds[::-1]
    yield "kind", line.replace(old, new)


def _padded(line: str) -> Iterator[tuple[str, str]]:
    found = re.search(r"\[(\d+):\+(\d+)\]", line)
    assert found
    interval, padding = int(found[1]), int(found[2])
    yield "interval", line.replace(found[0], f"[{interval * 2}:+{padding}]")
    yield "interval", line.replace(found[0], f"[{interval // 2}:+{padding}]")
    yield "padding", line.replace(found[0], f"[{interval}:+{padding * 2}]")
    bases = re.findall(r"\[\d+, \d+\]", line.partition("offset")[2])
    for first, second in pairwise(bases):
        yield "offset", line.replace(f"{first}, {second}", f"{second}, {first}")


_LINES = {
    "amd_mfma": _mfma,
    "amd_wmma": _wmma,
    "swizzled_shared": _swizzled,
    "amd_rotating_shared": _swizzled,
    "padded_shared": _padded,
}
