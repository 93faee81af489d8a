"""Barriers: one more, another in place of a lesser one, one that is moved."""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.expressions import function_around, indent, line_start
from layoutprobe.source.whole import end_of, start_of

BARRIER = "__syncthreads();"
LESSER = (
    "__builtin_amdgcn_wave_barrier", "__builtin_amdgcn_sched_barrier", "__builtin_amdgcn_fence", "__syncwarp",
    "__threadfence", "__threadfence_block",
)  # fmt: skip
"""What orders the code of a wave, or what others see of it, and waits for nobody."""


def moved(spot: Spot) -> Iterator[Rewrite]:
    """A barrier of the function behind the statement that follows it, or before the one that it follows."""
    source, tokens = spot.source, spot.source.tokens
    for i in function_around(source, spot.within.start):
        if tokens[i].text != "__syncthreads" or not i + 4 < len(tokens) or tokens[i + 3].text != ";":
            continue
        behind, blanks = end_of(source, i + 4), indent(source, i)
        if behind is not None:
            text = f"{source.text[tokens[i + 4].start : tokens[behind].end]}\n{blanks}{BARRIER}"
            yield Rewrite(tokens[i].start, tokens[behind].end, text, "moved")
        first = start_of(source, i - 1)
        if first is not None:
            text = f"{BARRIER}\n{blanks}{source.text[tokens[first].start : tokens[i - 1].end]}"
            yield Rewrite(tokens[first].start, tokens[i + 3].end, text, "moved")


def barriers(spot: Spot) -> Iterator[Rewrite]:
    """A barrier in place of one that holds back the compiler or a wave alone; behind a statement or before it, and so
    with the blocks around it."""
    source = spot.source
    inside = function_around(source, spot.within.start)
    for i in inside:
        if source.tokens[i].text in LESSER and source.word(i + 1) == "(" and i + 1 in source.partner:
            yield spot.replace(i, source.partner[i + 1] + 1, BARRIER.rstrip(";"), "barriers")
    first, last = spot.within.start, min(spot.within.stop, len(source.tokens) - 1)
    last = source.partner.get(last, last) if source.is_block(last) else last
    for _ in range(_BLOCKS):
        if not inside.start < first:
            return
        for offset, index in ((source.tokens[last].end, last), (line_start(source, first), first)):
            blanks = indent(source, first)
            text = f"\n{blanks}{BARRIER}" if index == last else f"{blanks}{BARRIER}\n"
            yield Rewrite(offset, offset, text, "barriers")
        block = source.block_around(first)
        if block is None or source.block_around(block[0]) is None:
            return
        first, last = source.around(block[0] - 1).start, block[1]


_BLOCKS = 3
