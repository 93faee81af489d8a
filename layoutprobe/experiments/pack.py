"""What reads bring, what the instruction needs, and the code that makes the one of the other: solved from patterns,
generated, and told only after it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from layoutprobe.arch import find
from layoutprobe.arch.lds import LdsRead
from layoutprobe.backends.base import Buffer
from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.codegen.assembly import listing, pack_code, placed
from layoutprobe.codegen.hip import call, pack_function
from layoutprobe.codegen.moves import FREE, Moves, UnreachableError, plan
from layoutprobe.errors import ProbeError, UsageError
from layoutprobe.experiments.lds_places import Place, Question, address_table, fitting, place_of, usual_read
from layoutprobe.experiments.lds_reads import delivery_of, image_of, read_at
from layoutprobe.layouts.layout import Layout, field_name
from layoutprobe.patterns.library import load_pattern
from layoutprobe.patterns.pattern import Pattern
from layoutprobe.report.lds_code import PackBlock, PackGroup, PackReport
from layoutprobe.solver.lds_reads import NOWHERE, solve_addresses
from layoutprobe.solver.movement import Movement, Observation, solve_movement
from layoutprobe.solver.packing import Packing, solve_packing

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]

PATTERNS = ("rowbyte", "rowxorcol")
"""That name every byte of a tile together."""
_WAVES = 4
"""Waves with random registers on which generated code runs."""

HIP = """\
#include <hip/hip_runtime.h>
{code}
extern "C" __global__ void made(const unsigned* from, unsigned* to)
{{
    const unsigned lane = threadIdx.x, at = blockIdx.x * {wave} + lane;
    unsigned raw[{raw}], packed[{packed}];
    for (int i = 0; i < {raw}; ++i) raw[i] = from[at * {raw} + i];
    {call}
    for (int i = 0; i < {packed}; ++i) to[at * {packed} + i] = packed[i];
}}
"""

ASSEMBLY = """\
.text
.globl made
.p2align 8
.type made,@function
made:
s_load_dwordx4 s[4:7], s[0:1], 0x0
s_mul_i32 s8, s2, {wave}
v_add_u32 v1, s8, v0
v_mul_u32_u24 v2, {raw_bytes}, v1
v_mul_u32_u24 v3, {packed_bytes}, v1
s_waitcnt lgkmcnt(0)
{sets}
{loads}
s_waitcnt vmcnt(0)
{lane}{code}
{stores}
s_endpgm
.size made, .-made
.rodata
.p2align 6
.amdhsa_kernel made
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_accum_offset {vgprs}
  .amdhsa_next_free_sgpr 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - {{.name: made, .symbol: made.kd, .kernarg_segment_size: 16, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .kernarg_segment_align: 8, .wavefront_size: {wave}, .sgpr_count: 16,
     .vgpr_count: {vgprs}, .max_flat_workgroup_size: {wave},
     .args: [{{.name: from, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}},
             {{.name: to, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}]}}
...
.end_amdgpu_metadata
"""


class Block(Struct, frozen=True, eq=False):
    """The operand of one matrix instruction.

    Attributes:
        title: which, in words: "B0"; with the rows and columns of the tile where there are several.
        packing: where its slots come from.
        moves: the program; None where the sources are not known, or out of reach.
        hip, assembly: the program as text; empty without one.
        registers: symbol of the assembly -> how many registers it names.
    """

    title: str
    packing: Packing
    moves: Moves | None = None
    hip: str = ""
    assembly: tuple[str, ...] = ()
    registers: Mapping[str, int] | None = None

    __repr__ = brief


def observed(
    asked: Question, read: LdsRead, place: Place, address: Ints, patterns: Sequence[str]
) -> tuple[list[Observation], Evidence]:
    """What reads bring of a tile, one run for each pattern.

    Args:
        asked: tile and target.
        read: the instruction.
        place: where the tile lies.
        address: int64 [read, lane], in bytes.
        patterns: names, or expressions.
    """
    seen = []
    for pattern in coded(patterns):
        carrier = _carrier(pattern, asked)
        values = pattern.encode_matrix(asked.matrix, _operand_shape(asked), carrier).astype(np.int64)
        held = np.zeros(int(place.index.max()) + 1, np.int64)
        held[place.index] = values.T if asked.swapped else values
        image = image_of(held, asked.bits)
        space = int(address.max()) + read.bytes
        image = np.concatenate([image, np.zeros(max(0, space - image.size), np.uint8)])
        words, evidence = read_at(asked.bench, read, image, address)  # [read, lane, word]
        dump = words.transpose(1, 0, 2).reshape(asked.bench.wave, -1)
        seen.append(Observation(pattern, carrier, np.ascontiguousarray(dump.T)[None]))
    return seen, evidence


def _carrier(pattern: Pattern, asked: Question) -> str:
    """Bits as they are, as wide as an element."""
    return {4: "u4", 8: "raw8", 16: "raw16"}[asked.bits]


def coded(names: Sequence[str]) -> list[Pattern]:
    """Patterns by name, each once.

    Raises:
        UsageError: no such pattern, or one twice.
    """
    if len(set(names)) < len(names):
        raise UsageError("a pattern is given twice", observed=", ".join(names))
    return [load_pattern(name) for name in names]


def _operand_shape(asked: Question) -> tuple[int, int]:
    return asked.shape[::-1] if asked.swapped else asked.shape


def pack_reads(
    asked: Question, read: str, store: str, address: str, read_as: str, patterns: Sequence[str]
) -> PackReport:
    """The packing for reads of a tile, which are executed.

    Args:
        asked: operand, tile and target.
        read: mnemonic; "": the read that exchanges elements of that width.
        store: scheme or expression of (row, col): where the tile lies.
        address: expression of lane and read; "": the addresses that `read_as` asks for.
        read_as: scheme or expression: the store that the addresses were made for.
        patterns: names of patterns.

    Raises:
        UsageError: an option that makes no sense.
    """
    arch = find(asked.bench.arch)
    one = fitting(asked, arch.lds_read(read or usual_read(asked)))
    delivery, _ = delivery_of(asked.bench, one, asked.bits)
    tiles = asked.tiles(delivery)
    place = place_of(store, asked.shape, asked.bits, arch.lds_bytes)
    if address:
        table = address_table(address, len(tiles.titles), asked.bench.wave, arch.lds_bytes)
    else:
        other = place_of(read_as, asked.shape, asked.bits, arch.lds_bytes)
        solved = solve_addresses(tiles, delivery, other.index, one.align)
        if solved.refusal:
            raise UsageError(
                f"{one.name} cannot read the operand from the store {read_as}", observed=solved.refusal
            )
        table = np.where(solved.address == NOWHERE, 0, solved.address)
    seen, evidence = observed(asked, one, place, table, patterns)
    return packed_from(asked, one, seen, evidence)


def pack_dumps(asked: Question, files: Mapping[str, bytes]) -> PackReport:
    """The packing for registers that somebody dumped.

    Args:
        asked: operand, tile and target.
        files: name of a pattern -> the bytes of lane 0, then of lane 1, and so on.

    Raises:
        UsageError: a file is no such dump.
    """
    seen = []
    for pattern, raw in zip(coded(list(files)), files.values(), strict=True):
        if not raw or len(raw) % (4 * asked.bench.wave):
            raise UsageError(
                "this is no dump of the registers of a wave",
                where={"pattern": pattern.name},
                expected=f"a multiple of {4 * asked.bench.wave} bytes: whole registers of {asked.bench.wave} lanes",
                observed=f"{len(raw)} bytes",
            )
        words = np.frombuffer(raw, "<u4").reshape(asked.bench.wave, -1).astype(np.uint32)
        seen.append(Observation(pattern, _carrier(pattern, asked), np.ascontiguousarray(words.T)[None]))
    if not seen:
        raise UsageError("there is no dump")
    return packed_from(asked, None, seen, None)


def packed_from(
    asked: Question, read: LdsRead | None, seen: Sequence[Observation], evidence: Evidence | None
) -> PackReport:
    """The packing for registers that were dumped under patterns."""
    received = solve_movement(seen, asked.matrix, _operand_shape(asked), asked.bits)
    blocks = [_block(asked, title, received, needed) for title, needed in needed_blocks(asked)]
    for block in blocks:
        if block.moves is not None:
            for hip in (hip_kernel(asked, block), None):
                check_code(asked, block, seen, hip)
    ran = f"{_WAVES} waves of random registers, and what the patterns left in registers"
    return PackReport(
        asked.subject,
        read.name if read else "",
        tuple(one.pattern.name for one in seen),
        blocks[0].packing.sources,
        field_name(asked.bits),
        tuple(map(_told, blocks)),
        ran if any(block.moves is not None for block in blocks) else "",
        evidence,
    )


def _told(block: Block) -> PackBlock:
    packing = block.packing
    groups = tuple(PackGroup(g.lanes, g.partner, g.source) for g in packing.groups)
    if packing.missing.any():
        status, why = "missing", _missing(packing)
    elif packing.ambiguous.any():
        status = "ambiguous"
        why = (
            f"the patterns do not tell {packing.twins} apart, so {int(packing.ambiguous.sum())} of "
            f"{packing.ambiguous.size} slots may come from elsewhere; give one more pattern"
        )
    elif packing.identity:
        status, why = "nothing to do", "what the reads bring is the operand, register by register"
    else:
        status, why = "code", ""
    return PackBlock(block.title, groups, status, why, block.hip, block.assembly, dict(block.registers or {}))


def _missing(packing: Packing) -> str:
    first = next(iter(packing.unserved()))
    count = int(packing.missing.sum())
    return (
        f"{count} of {packing.missing.size} slots need an element that neither the lane itself nor the lanes 16, 32 "
        f"and 48 away have read: {first}; no packing mends that, the addresses are at fault (`layoutprobe "
        "solve-swizzle`)"
    )


def needed_blocks(asked: Question) -> list[tuple[str, Layout]]:
    """The operands that a tile holds, each with its name: blocks of columns within blocks of rows."""
    operand, (rows, cols) = asked.operand, _operand_shape(asked)
    found: list[tuple[str, Layout]] = []
    for top in range(0, rows, operand.shape[0]):
        for left in range(0, cols, operand.shape[1]):
            moved = Layout(
                operand.matrix, (rows, cols), operand.row + np.int32(top), operand.col + np.int32(left),
                operand.field_bits,
            )  # fmt: skip
            found.append((f"{operand.matrix}{len(found)}", moved))
    return found


def _block(asked: Question, title: str, received: Movement, needed: Layout) -> Block:
    packing = solve_packing(received, needed)
    if packing.ambiguous.any() or packing.missing.any():
        return Block(title, packing)
    try:
        lane, source = as_bytes(packing)
        moves = plan(lane, source, packing.sources * asked.bits // 8)
    except UnreachableError:
        return Block(title, packing)
    code, registers = pack_code(moves)
    name = "pack" if asked.shape == asked.unit else f"pack_{title}"
    return Block(title, packing, moves, pack_function(moves, name), tuple(code), registers)


def as_bytes(packing: Packing) -> tuple[Ints, Ints]:
    """Lane and byte of every byte of the operand.

    Raises:
        UsageError: elements of four bits would have to part from their neighbours.
    """
    bits = packing.field_bits
    if bits >= 8:
        each = bits // 8
        source = np.where(packing.source == NOWHERE, FREE, packing.source * each)
        wide = source[..., None] + np.where(source == FREE, 0, 1)[..., None] * np.arange(each)
        return np.repeat(packing.lane, each, axis=1), wide.reshape(len(source), -1)
    low, high = packing.source[:, 0::2], packing.source[:, 1::2]
    same = packing.lane[:, 0::2] == packing.lane[:, 1::2]
    if not (same & (low % 2 == 0) & (high == low + 1)).all():
        raise UsageError(
            "elements of 4 bits that share a byte would have to part: byte permutes cannot do that",
            hint="make the reads bring them side by side: see `layoutprobe solve-swizzle`",
        )
    return packing.lane[:, 0::2], low // 2


# By execution


def hip_kernel(asked: Question, block: Block) -> str:
    """A kernel that runs the code on registers from memory."""
    assert block.moves is not None
    moves, name = block.moves, block.hip.partition("void ")[2].partition("(")[0]
    return HIP.format(
        code=block.hip, wave=asked.bench.wave, raw=moves.raw, packed=moves.packed, call=call(moves, name)
    )


def assembly_kernel(asked: Question, block: Block) -> str:
    """The same in assembly."""
    moves, registers = block.moves, block.registers
    assert moves is not None
    assert registers is not None
    numbers = placed(registers, 4) | ({"constant": 9} if "constant" in registers else {})
    last = max(numbers[name] + count for name, count in registers.items() if name != "constant")
    head = list(listing((), numbers))
    return ASSEMBLY.format(
        wave=asked.bench.wave, target=asked.bench.arch, raw_bytes=4 * moves.raw, packed_bytes=4 * moves.packed,
        sets="\n".join(head), code="\n".join(block.assembly), vgprs=-(-last // 4) * 4,
        lane="v_mov_b32 v[lane], v0\n" if "lane" in registers else "",
        loads="\n".join(f"global_load_dword v[raw+{i}], v2, s[4:5] offset:{4 * i}" for i in range(moves.raw)),
        stores="\n".join(
            f"global_store_dword v3, v[packed+{i}], s[6:7] offset:{4 * i}" for i in range(moves.packed)
        ),
    )  # fmt: skip


def check_code(asked: Question, block: Block, seen: Sequence[Observation], hip: str | None) -> None:
    """Run one kernel and hold what comes out against the table of sources.

    Args:
        asked: what runs it.
        block: the code.
        seen: registers under the patterns, which it must pack as well.
        hip: the kernel in HIP; None: in assembly.

    Raises:
        ProbeError: a byte is not the one that it should be.
    """
    moves = block.moves
    assert moves is not None
    bench = asked.bench
    code = bench.compiled(hip) if hip is not None else bench.assembled(assembly_kernel(asked, block))
    random = np.random.default_rng(len(block.assembly))
    dumps = [random.integers(0, 1 << 32, (bench.wave, moves.raw), np.uint32) for _ in range(_WAVES)]
    dumps += [np.ascontiguousarray(one.raw[0].T.astype(np.uint32)) for one in seen]
    given = np.stack(dumps)
    out = Buffer(np.zeros((len(given), bench.wave, moves.packed), np.uint32), undefined=True)
    got, _ = bench.run(code, "made", [Buffer(given), out], waves=len(given))
    lane, source = as_bytes(block.packing)
    before = given.view(np.uint8).reshape(len(given), bench.wave, -1)
    expected = before[:, lane, source]
    after = np.ascontiguousarray(got).view(np.uint8).reshape(expected.shape)
    wrong = (after != expected) & (source != FREE)
    if wrong.any():
        _, at, byte = (int(x) for x in np.argwhere(wrong)[0])
        raise ProbeError(
            "generated packing code is wrong: a bug in layoutprobe, nothing is printed",
            where={"block": block.title, "language": "assembly" if hip is None else "HIP", "lane": at},
            expected=f"byte {source[at, byte]} of lane {lane[at, byte]} at byte {byte}",
        )
