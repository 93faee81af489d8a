"""What goes wrong with what lanes share: values that they give each other, counters in LDS, and what is overwritten
before it is read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from layoutprobe.rewrites.conditions import stands_alone
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import between
from layoutprobe.source.statements import free_words
from layoutprobe.source.tree import Node

_SHIFT = re.compile(r"\b(\w+)\s*=\s*[^;=]*?\b\w*(?:shfl|shuffle|shift)_?(up|down)\w*\s*\(([^;]*)\)\s*;", re.I)
_LANE = re.compile(r"(?:\w*_|\w+\.)?(?:lane(?:_?id)?|lid|tid|laneId|li|l)", re.IGNORECASE)


_WIDTHS = ("warpSize", "kWave", "WAVE", "kWarp", "WARP")


def _lanes(spot: Spot) -> list[str]:
    """Names that a lane's number has."""
    return [name for name, one in spot.names.items() if one.sort == "integer" and _LANE.fullmatch(name)]


def shifted(spot: Spot) -> Iterator[Rewrite]:
    """`if (lane >= d) sum += up;` for `sum += up;`, where `up` is of the lane d below: the first lanes have none."""
    if spot.tree.kind != "assignment" or not stands_alone(spot):
        return
    value, start = spot.text(spot.tree), spot.source.tokens[spot.within.start].start
    for found in _SHIFT.finditer(spot.body):
        step = found[3].split(",")[1].strip() if "," in found[3] else ""
        if re.search(rf"=[^=]*\b{found[1]}\b", value) is None or re.search(rf"\b{found[1]}\s*=", value):
            continue
        for nth, lane in enumerate(_lanes(spot)[:_MOST]):
            test = (
                f"{lane} >= {step or 1}" if found[2].lower() == "up" else f"{lane} + {step or 1} < warpSize"
            )
            yield Rewrite(start, start, f"if ({test}) ", "shifted", 0.1 * nth)


_MOST = 3


def striped(spot: Spot) -> Iterator[Rewrite]:
    """`j * 32 + lane` for `lane * COUNT + j`, and the reverse: of two that share a line, one takes elements so
    far apart, and the other one its neighbours."""
    counts = dict(_COUNTED.findall(spot.body))
    widths = [name for name in _WIDTHS if name in spot.names] or ["32", "64"]
    for one, other in _neighbours(spot):
        (name, by), (name_after, by_after) = _strided(spot, one), _strided(spot, other)
        if bool(by) == bool(by_after):
            continue
        near, far = (name, name_after) if by else (name_after, name)
        if any(known.sort == "pointer" for text in (near, far) if (known := spot.names.get(text))):
            continue
        of_lanes = widths if _LANE.fullmatch(near) else []
        steps = dict.fromkeys((*([counts[near]] if near in counts else ()), *of_lanes, *_STEPS))
        middle = between(spot.source, one.last, other.first)
        for nth, step in enumerate(steps):
            new = spot.replace(spot.start(one), other.last, f"{far} * {step}{middle}{near}", "striped")
            yield replace(new, rank=0.15 * nth)


def halved(spot: Spot) -> Iterator[Rewrite]:
    """`k + q * 16` and `k + q * 16 + 64` for `k + q * 32` and `k + q * 32 + 16`, and the reverse: a lane's half of an
    operand begins behind those of all groups of lanes, or behind its other half."""
    first, last = spot.within.start, spot.within.stop
    text = spot.source.slice(first, last)
    for name, width in dict.fromkeys(re.findall(r"\b(\w+) \* (\d+)\b", text)):
        whole, half = int(width), int(width) // 2
        for groups in _GROUPS:
            pairs = (
                (rf"{half}", f"{half} + {half * groups}", half),
                (rf"{whole * groups}", f"{2 * whole} + {whole}", 2 * whole),
            )
            for beside, both, alone in pairs:
                other = rf"(?:\b{beside} \+ {name} \* {width}|\b{name} \* {width} \+ {beside})\b"
                if not re.search(other, text) or len(re.findall(rf"\b{name} \* {width}\b", text)) < _SHARES:
                    continue
                kept = re.sub(other, f"{_KEPT}{both}", text)
                new = re.sub(rf"\b{name} \* {width}\b", f"{name} * {alone}", kept).replace(
                    _KEPT, f"{name} * "
                )
                yield spot.replace(first, last, new, "halved")


_KEPT = "\0"
_GROUPS, _SHARES = (4, 2), 2
"""How many groups of lanes share an operand's depth, and in how many parts each has its own."""


def _neighbours(spot: Spot) -> Iterator[tuple[Node, Node]]:
    """Neighbours in sums."""
    for node in spot.tree.walk():
        if node.kind == "sum":
            signs = ["+", *(spot.operator(node, n) for n in range(1, len(node.parts)))]
            pairs = zip(pairwise(node.parts), pairwise(signs), strict=True)
            yield from (pair for pair, both in pairs if both == ("+", "+"))


def _strided(spot: Spot, part: Node) -> tuple[str, str]:
    """A term and its stride: `lane`, `4` of `lane * 4`."""
    if part.kind == "product" and len(part.parts) == len(("lane", "4")) and spot.operator(part, 1) == "*":
        name, by = (spot.text(one) for one in part.parts)
        return (by, name) if name.isdigit() else (name, by)
    return spot.text(part), ""


_STEPS = ("4", "8", "2", "16")
_COUNTED = re.compile(r"\bfor \([^;]*; *(\w+) < ([\w:]+) *;")


def counted(spot: Spot) -> Iterator[Rewrite]:
    """`++counts[e];` behind `out[base + rank] = i;`, where `rank` is what `counts[e]` holds: who comes next needs the
    next one."""
    tokens, stop = spot.source.tokens, spot.within.stop
    if stop >= len(tokens) or tokens[stop].text != ";" or spot.tree.kind != "assignment":
        return
    text = spot.text(spot.tree)
    for name, place in _READ.findall(spot.body):
        moves = re.search(rf"(?:\+\+ ?{re.escape(place)}|{re.escape(place)} ?(?:\+\+|[-+]?= ))", spot.body)
        if re.search(rf"\b{name}\b", text.split("=")[0]) and moves is None:
            end = tokens[stop].end
            yield Rewrite(end, end, f" {place} = {name} + 1;", "counted")


_READ = re.compile(r"\b(?:int|unsigned|uint32_t|auto)\s+(\w+) = (\w+(?:\[[^\[\];]+\])+);")


def cleared(spot: Spot) -> Iterator[Rewrite]:
    """Zeros in LDS before anything is added there: behind `__shared__ int bins[N];`, with a barrier."""
    tokens, stop = spot.source.tokens, spot.within.stop
    found = _SHARED.fullmatch(spot.source.slice(spot.within.start, stop))
    if found is None or stop >= len(tokens) or tokens[stop].text != ";":
        return
    name, size = found.groups()
    if re.search(rf"\b{name}\[[^\]]*\] = (?:0|0\.0?f?);", spot.body) is None:
        end, each = tokens[stop].end, f"for (int lp_i = threadIdx.x; lp_i < {size}; lp_i += blockDim.x)"
        yield Rewrite(end, end, f" {each} {name}[lp_i] = 0; __syncthreads();", "cleared")


_SHARED = re.compile(r"(?:static )?__shared__ (?:\w+ )+(\w+)\[([^\[\]]+)\]")


def overwritten(spot: Spot) -> Iterator[Rewrite]:
    """`x0 * s` for `*y0 * s`, where the statement before has given `*y0` another value: what it was is in a name."""
    written = [spot.text(target) for target in _targets_before(spot)]
    reals = [name for name, one in spot.names.items() if one.sort == "real" and name.isidentifier()]
    assigned = spot.assignment(spot.tree)
    if assigned is None or not written:
        return
    for node in assigned[2].walk():
        if node.kind == "leaf" and (text := spot.text(node)) in written and not text.isidentifier():
            for nth, name in enumerate(reals[:_MOST_NAMES]):
                yield replace(spot.replace(spot.start(node), node.last, name, "overwritten"), rank=0.15 * nth)


_MOST_NAMES = 6


def _targets_before(spot: Spot) -> Iterator[Node]:
    """What the two statements before this one assign to."""
    before = [tree for tree in spot.statements if tree.last <= spot.within.start][-_BEFORE:]
    yield from (found[1] for tree in before if (found := spot.assignment(tree)) is not None)


_BEFORE = 2


def of_rows(spot: Spot) -> Iterator[Rewrite]:
    """`__shfl(scale, quad * 4 + r)` for `scale` beside `acc[r]`: a lane has the factor of its column, and registers
    are of rows, whose factors other lanes have."""
    own = spot.source.slice(spot.within.start, spot.within.stop)
    for counter in dict.fromkeys(_COUNTER.findall(spot.body)):
        if re.search(rf"\[{counter}\]", own) is None:
            continue
        often = Counter(re.findall(_ROW.format(counter), spot.body))
        rows = [row for row, _ in often.most_common() if free_words(row) <= spot.heads][:_MOST]
        for one in spot.scope.operands:
            if (
                one.first in spot.within
                and one.sort == "real"
                and one.text.isidentifier()
                and _is_plain(spot, one.last)
            ):
                for nth, row in enumerate(rows):
                    text = f"__shfl({one.text}, {row})"
                    yield replace(spot.replace(one.first, one.last, text, "of_rows"), rank=0.1 * nth)


_COUNTER = re.compile(r"\bfor \(\w+ (\w+) = 0;")
_ROW = (
    r"\b(?:\w+ \* \w+ \+ {0}|{0} \+ \w+ \* \w+|{0} \* \w+ \+ \w+|\w+ \* {0} \+ \w+"
    r"|\w+\({0}(?:, [\w.]+)?\)|\w+\([\w.]+, {0}\))(?!\w)"
)
"""Which row a register of an accumulator is of."""


def _is_plain(spot: Spot, behind: int) -> bool:
    """Whether what ends before a token is a value, and neither indexed, called nor given one."""
    return spot.source.word(behind) not in ("[", "(", "=", "+=", "*=", "-=", ".")
