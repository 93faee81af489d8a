"""Where control of a kernel can go: which block follows which, and the loops.

A loop is natural: a header, and all blocks from which a branch back to it is reached without passing it.
Behind a call comes the instruction after it: functions have a flow of their own, which their return ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from layoutprobe.brief import brief
from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.machine.program import CONDITIONS, Block, Program


class Flow(Struct, frozen=True, eq=False):
    """The blocks of a kernel, each known by the address of its first instruction.

    Attributes:
        blocks: the instructions of each, no-ops included, in the order of the code.
        nexts: which blocks can follow each; of a conditional branch first the one that it falls through to.
        loops: header -> blocks of the loop, the header among them.
        number: block -> its position in the order of the code.
    """

    blocks: Mapping[int, tuple[Inst, ...]]
    nexts: Mapping[int, tuple[int, ...]]
    loops: Mapping[int, frozenset[int]]
    number: Mapping[Block, int]

    __repr__ = brief


@lru_cache(maxsize=4)
def flow_of(program: Program) -> Flow:
    """The flow of a program; kept for those that run now."""
    blocks = dict(sorted(program.blocks.items()))
    nexts = {pc: tuple(_nexts(block, blocks)) for pc, block in blocks.items()}
    number = {block: at for at, block in enumerate(blocks.values())}
    listed = {pc: block.listing for pc, block in blocks.items()}
    return Flow(listed, nexts, _loops(program.kernel.entry, nexts), number)


def _nexts(block: Block, blocks: Mapping[int, Block]) -> Iterator[int]:
    last = block.last
    if last is not None and Kind.END in last.kind:
        return
    if block.next_pc in blocks and not (last is not None and Kind.FINAL in last.kind):
        yield block.next_pc
    if last is not None and last.name in CONDITIONS and last.branch_target != block.next_pc:
        yield last.branch_target


def _loops(entry: int, nexts: Mapping[int, tuple[int, ...]]) -> dict[int, frozenset[int]]:
    before: dict[int, list[int]] = {pc: [] for pc in nexts}
    for pc, following in nexts.items():
        for other in following:
            before[other].append(pc)
    loops: dict[int, set[int]] = {}
    seen: set[int] = set()
    # What is not reached from the kernel's entry are functions; compilers place their entries first.
    edges = [edge for first in (entry, *nexts) for edge in _back_edges(first, nexts, seen)]
    for tail, header in edges:
        body = loops.setdefault(header, {header})
        pending = [tail]
        while pending:
            pc = pending.pop()
            if pc not in body:
                body.add(pc)
                pending += before[pc]
    return {header: frozenset(body) for header, body in sorted(loops.items())}


def _back_edges(
    entry: int, nexts: Mapping[int, tuple[int, ...]], seen: set[int]
) -> Iterator[tuple[int, int]]:
    """Edges that lead back to a block on the way from the entry, depth first; not through blocks seen before."""
    if entry in seen:
        return
    seen.add(entry)
    on_the_way = {entry}
    path = [(entry, iter(nexts[entry]))]
    while path:
        pc, rest = path[-1]
        following = next(rest, None)
        if following is None:
            on_the_way.discard(pc)
            path.pop()
        elif following in on_the_way:
            yield pc, following
        elif following not in seen:
            seen.add(following)
            on_the_way.add(following)
            path.append((following, iter(nexts[following])))
