"""Where bits come from, beside two things that know nothing of tags: the bits of the inputs, and a run in which one
element of them is another."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.gate.record import record
from layoutprobe.isa.inst import Inst
from layoutprobe.machine.machine import Machine
from layoutprobe.machine.program import Program
from layoutprobe.observe.base import Recorder
from layoutprobe.place import Element
from layoutprobe.recording import flow
from layoutprobe.recording.common import Common
from layoutprobe.recording.model import Buffer, Recording
from layoutprobe.recording.names import Names
from layoutprobe.recording.planes import Bound, bound
from layoutprobe.recording.recorder import Record
from layoutprobe.recording.replay import Registers, Replay
from layoutprobe.recording.tags import FAR, TagTable
from layoutprobe.trace.subject import RunSpec
from recording.kernels import KERNELS, opened

NIBBLES = 4 * np.arange(8, dtype=np.uint32)


def states(recording: Recording, count: int) -> Iterator[tuple[int, int, Registers]]:
    """Wave, row and registers at about so many steps, other ones in each wave."""
    replay = Replay(recording)
    every = max(1, recording.steps.inst.size // count)
    for wave in range(len(recording.waves)):
        for row in replay.steps(wave)[wave % every :: every].tolist():
            yield wave, row, replay.registers(wave, row)


def nibbles(words: np.ndarray) -> np.ndarray:
    return (words[..., None] >> NIBBLES) & np.uint32(15)


def inputs(name: str, recording: Recording) -> np.ndarray:
    """The nibbles of all buffers before the run, as tags number them."""
    subject = opened(name)._subject
    given = subject.run(RunSpec("integers", ()), partial=True).inputs
    parts: list[np.ndarray] = []
    for buffer, start in zip(recording.buffers, recording.tags.starts, strict=True):
        assert start == sum(part.size for part in parts)  # each begins with a dword
        bound = subject.binding.buffers[buffer.name]
        raw = (
            bound.store(given[buffer.name])
            if buffer.name in given
            else np.zeros(bound.size, bound.element.storage)
        )
        each = np.ascontiguousarray(raw).view(np.uint8).ravel()
        each = np.pad(each, (0, -each.size % 4))
        parts.append(np.stack([each & 15, each >> 4], axis=-1).ravel())
    return np.concatenate(parts)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", KERNELS)
def test_moved_copies_hold_the_bits_of_their_elements(name: str) -> None:
    recording = opened(name).recording()
    memory, checked, elements = inputs(name, recording), 0, set()
    for _, _, held in states(recording, 90):
        tags = recording.tags.nibbles(held.tags)
        copied = (tags > 0) & (nibbles(held.undefined) == 0)
        assert np.array_equal(nibbles(held.vgprs)[copied], memory[tags[copied] - 1])
        checked += int(copied.sum())
        elements.update(np.unique(tags[copied]).tolist())
    assert checked > 1000
    assert len({int(memory[at - 1]) for at in elements}) > 3, "the inputs tell elements apart"


class Change(Struct, frozen=True):
    """Makes an observer that changes one element before the kernel starts."""

    element: Element
    bits: int

    def __call__(self) -> Recorder:
        return _Changer(self)


class _Changer(Recorder):
    def __init__(self, wanted: Change) -> None:
        self.wanted = wanted

    def batch(self, machine: Machine, program: Program) -> None:
        buffer = opened_buffers()[self.wanted.element.matrix]
        region = next(r for r in machine.arena.regions if r.name == f"buffer {self.wanted.element.matrix}")
        flat = sum(i * s for i, s in zip(self.wanted.element.index, buffer[0], strict=True))
        machine.arena.data.bytes[region.start + flat * buffer[1]] ^= self.wanted.bits

    def record(self) -> object:
        return None


_CURRENT: list[str] = []


def opened_buffers() -> dict[str, tuple[tuple[int, ...], int]]:
    """Strides and bytes of an element of the buffers of the kernel that is looked at."""
    return {
        name: (b.strides, b.itemsize) for name, b in opened(_CURRENT[-1])._subject.binding.buffers.items()
    }


@cache
def changed(name: str, element: Element, bits: int) -> Recording:
    """The recording of a run in which an element's lowest byte has some bits flipped."""
    _CURRENT.append(name)
    subject = opened(name)._subject
    buffers = opened(name).recording().buffers
    run = subject.run(
        RunSpec("integers", (Change(element, bits), Record(((0, 0, 0),), buffers))), partial=True
    )
    return run.record(Recording)


def unexplained(recording: Recording, other: Recording, element: Element) -> tuple[int, int]:
    """Nibbles of registers that the change of an element changed, and those whose tags say nothing of it."""
    own, origins = Names(recording).finds(element)
    seen = missed = 0
    rows = {(w, r): held for w, r, held in states(other, 120)}
    assert np.array_equal(recording.steps.inst, other.steps.inst), (
        "the change must not change the control flow"
    )
    for wave, row, held in states(recording, 120):
        tags = recording.tags.nibbles(held.tags)
        defined = nibbles(held.undefined) == 0
        differ = (nibbles(held.vgprs) != nibbles(rows[wave, row].vgprs)) & defined
        from_it = (tags >= own.start) & (tags < own.stop)
        computed = tags < 0
        from_it[computed] = origins[-1 - tags[computed]]
        seen += int(differ.sum())
        missed += int((differ & ~from_it).sum())
    return seen, missed


CHANGED = {
    "asmOpt": (Element("A", (40, 21)), 0xFF),
    "xor": (Element("B", (9, 33)), 0xFF),
    "int4": (Element("w", (3, 7)), 0x30),
    "int8": (Element("B", (17, 5)), 0x01),
    "attention": (Element("k", (0, 37, 11)), 0xFF),
    "triton-attention": (Element("q", (0, 19, 5)), 0xFF),
    "triton-fp8": (Element("A", (33, 40)), 0x01),
    "indexed": (Element("A", (17, 4)), 0xFF),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CHANGED)
def test_what_an_element_changes_is_named_after_it(name: str) -> None:
    element, bits = CHANGED[name]
    seen, missed = unexplained(opened(name).recording(), changed(name, element, bits), element)
    assert seen > 100
    assert missed == 0


@pytest.mark.long
def test_a_forgotten_source_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was computed from two is said to come from the first: the run with another element must see it."""
    kernel = opened("int4")
    buffers = kernel.recording().buffers
    monkeypatch.setattr(TagTable, "unite", lambda self, one, other: np.where(one == 0, other, one))
    wrong = kernel._subject.run(RunSpec("integers", (Record(((0, 0, 0),), buffers, limit=1 << 29),))).record(
        Recording
    )
    monkeypatch.undo()
    elements = (Element("scale", (3, 0)), Element("w", (3, 0)))
    runs = [(changed("int4", element, 0x40), element) for element in elements]
    assert [unexplained(kernel.recording(), *run)[1] for run in runs] == [0, 0]
    assert sum(unexplained(wrong, *run)[1] for run in runs) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", ["asmOpt", "xor", "column", "triton-mfma", "tr16", "tr8-wave64", "pv"])
def test_operands_are_named_as_the_coded_runs_name_them(name: str) -> None:
    """`operand` decodes digits out of coded runs; tags follow one run. Every live slot agrees."""
    kernel = opened(name)
    recording = kernel.recording()
    replay, names, compared = Replay(recording), Names(recording), 0
    letters = {buffer.matrix: buffer.name for buffer in recording.buffers}
    for site in kernel.sites.sites[::5]:
        for matrix in "AB":
            report = kernel.operand(matrix, site.number, workgroup=(0, 0, 0), iteration=0)
            layout = report.loaded
            register = int(dict(report.about)["registers"].partition(" ")[0][1:])
            for wave in range(0, len(recording.waves), 3):
                rows = replay.steps(wave)
                row = rows[[recording.code[i].place.pc == site.place.pc for i in recording.steps.inst[rows]]][
                    0
                ]
                held = replay.registers(wave, int(row))
                for _, lane, vgpr, field in np.ndindex(1, *layout.row.shape[1:]):
                    if lane % 7:
                        continue
                    parts = names.word(int(held.tags[register + vgpr, lane]))
                    index = int(layout.row[wave, lane, vgpr, field]), int(layout.col[wave, lane, vgpr, field])
                    assert parts[field].element == Element(letters[matrix], index)
                    compared += 1
    assert compared >= 160


@pytest.mark.parametrize("name", ["int4", "attention", "triton-attention", "triton-mfma"])
def test_every_slot_of_every_product_is_named(name: str) -> None:
    """Of operands A and B, in every execution by every wave: an element, or what it was computed from."""
    recording = opened(name).recording()
    replay, names = Replay(recording), Names(recording)
    kinds: set[str] = set()
    products = 0
    for wave in range(len(recording.waves)):
        for row in replay.steps(wave).tolist():
            one = recording.code[int(recording.steps.inst[row])]
            if one.kind != "matrix":
                continue
            products += 1
            held = replay.registers(wave, row)
            for span in [span for span in one.reads if span.kind == "v"][:2]:
                which = slice(span.index, span.index + span.count)
                assert not held.undefined[which].any()
                words = np.unique(held.tags[which]).tolist()
                kinds |= {part.kind for word in words for part in names.word(word)}
    assert products
    assert kinds <= {"element", "sum", "computed"}
    assert ("computed" in kinds) == (name == "int4")
    assert ("sum" in kinds) == ("attention" in name)


def test_a_dequantised_weight_is_named_by_its_own_word_and_scale() -> None:
    """gemm_int4.hip: lane % 16 is the column n; w[n] has eight weights in a dword, scale[n] one for 32 of K."""
    recording = opened("int4").recording()
    replay, names = Replay(recording), Names(recording)
    code = [recording.code[int(recording.steps.inst[row])] for row in replay.steps(0).tolist()]
    rows = [
        (row, one) for row, one in zip(replay.steps(0).tolist(), code, strict=True) if one.kind == "matrix"
    ]
    assert len(rows) == 96 // 16
    for step, (row, one) in enumerate(rows):
        tags, span = replay.registers(0, row).tags, one.reads[1]
        for register, lane in np.ndindex(span.count, recording.lanes):
            for half, held in enumerate(names.word(int(tags[span.index + register, lane]))):
                k, n = 16 * step + 2 * register + half, lane % 16
                assert held.text == f"from w[{n}][{k // 8}], scale[{n}][{k // 32}]"


def test_instructions_that_need_not_be_executed_again_bring_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arithmetic and moves are followed without planes, which are for the rest: both must say the same."""
    kernel = opened("ragged")
    x, y, z = kernel._subject.binding.grid
    quick = kernel.recording((x - 1, y - 1, z - 1))  # at the edge of C, where lanes are inactive

    def slow(inst: Inst) -> Bound | None:
        one = bound(inst)
        return one and replace(one, read=None, spreads=False, moves=None)

    monkeypatch.setattr(flow, "bound", slow)
    planes = record(kernel._subject, kernel._backend, ((x - 1, y - 1, z - 1),), limit=1 << 29)
    both = Common([quick, planes])
    for table in ("vectors", "scalars", "stored"):
        one, other = (
            both.numbers(at, each.tags.nibbles(getattr(each, table).tag))
            for at, each in enumerate((quick, planes))
        )
        assert np.array_equal(one, other), table


def test_what_many_make_is_what_pairs_of_neighbours_make() -> None:
    """Boxes of a line are united at once; pair by pair, in the order of their places, they must be the same."""
    table = TagTable((Buffer("A", "f16", (8, 8), (8, 1), 0, 128), Buffer("s", "f32", (6,), (1,), 128, 24)))
    rng = np.random.default_rng(3)
    firsts = 1 + 4 * rng.integers(0, 64, 400)
    made = table.unite(firsts[:200].astype(np.int32), firsts[200:].astype(np.int32))
    known = np.concatenate([np.zeros(200), firsts, 257 + 8 * np.arange(6), made]).astype(np.int32)
    for count in (1, 2, 3, 4, 7, 16):
        tags = rng.choice(known, (300, count))
        tags[::3] = tags[::3, :1]
        place = np.array([table._rows_of(line)[:, 3::2].astype(np.int64) for line in tags])
        order = np.where(place == FAR, 0, place).sum(axis=2).argsort(axis=1, kind="stable")
        left = list(np.take_along_axis(tags, order, axis=1).T) if count > 2 else list(tags.T)
        while len(left) > 1:
            pairs = [table.unite(*left[at : at + 2]) for at in range(0, len(left) - 1, 2)]
            left = pairs + left[len(left) // 2 * 2 :]
        assert np.array_equal(table._rows_of(table.unite_all(tags)), table._rows_of(left[0]))
