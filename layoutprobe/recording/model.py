"""What is kept of a recorded run, as plain arrays: who executed what in which order, and what that changed.

How to read it. A *row* is one instruction executed by one wave; rows are numbered in the order in which the
emulator executed them, which is the clock of everything here. Waves that execute an instruction together have
rows behind each other, in ascending order. A wave's rows are its *steps*, counted from 0. The state *at* a step
is the one before its instruction executes.

* The timeline of a wave: `recording.steps_of(wave)` gives its rows; `recording.code[recording.steps.inst[row]]` is
  the instruction, with PC, line and kind.
* Registers: every write keeps the whole register behind it, all lanes. The content of a register at a row is that
  of the last write of the wave before that row; undefined where there is none. `replay.py` does that.
* Memory: every access keeps the address of each lane, every store also what it stored, dword by dword.
* Where bits come from: beside each value stands a number, a row of `Tags.words`; `names.py` makes words of it.

Nothing here runs a kernel or needs one: a recording that was read from a file (`file.py`) answers the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import astuple
from numpy.typing import NDArray

from layoutprobe.brief import brief
from layoutprobe.capture.capture import Evidence
from layoutprobe.place import Place
from layoutprobe.report.kernel_view import Moments

Ints = NDArray[np.int64]
Group = tuple[int, int, int]

SPACES = ("LDS", "global", "scratch")
"""What `Accesses.space` counts."""
INACTIVE = -1
"""Address of a lane that does not access."""
RUN = 1 << 30
"""Words from here on are eight nibbles of the buffers that follow each other, see `Tags.words`."""
NOTHING = 0
"""Tag of what comes from no element: constants, ids, arguments that are no buffers."""


class Span(Struct, frozen=True):
    """Registers that an instruction names.

    Attributes:
        kind: "v" of VGPRs (AccVGPRs are rows of the same file), "s" of scalar registers.
        index: the first, as `isa.inst` encodes it: s106 is vcc_lo, s128 SCC.
        count: how many.
        half: the upper half of a register alone (16-bit operands).
        bits: width of the operand.
    """

    kind: str
    index: int
    count: int
    half: bool = False
    bits: int = 32


class Instruction(Struct, frozen=True):
    """One instruction of the kernel's code.

    Attributes:
        place: PC, mnemonic, source line and the calls around it.
        kind: "matrix", "load", "store", "atomic", "barrier", "wait", "branch", "end", "vector", "scalar" or "hint".
        text: mnemonic and operands.
        reads, writes: the registers that it names.
    """

    place: Place
    kind: str
    text: str
    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()


class Buffer(Struct, frozen=True):
    """A buffer argument of the kernel.

    Attributes:
        name: as the manifest has it.
        dtype: element type.
        shape, strides: in elements.
        address, nbytes: where it lies, as kernels see it.
        matrix: "A", "B" or "C" of a matrix product, else "".
        role: "in", "out" or "inout".
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    nbytes: int
    matrix: str = ""
    role: str = "in"


class Wave(Struct, frozen=True):
    """A recorded wave: its workgroup's id, and its position there."""

    group: Group
    index: int


class Steps(Struct, frozen=True, eq=False):
    """Rows. int32 [row] both: position in `Recording.code`, and in `Recording.waves`."""

    inst: NDArray[np.int32]
    wave: NDArray[np.int32]

    __repr__ = brief


class VectorWrites(Struct, frozen=True, eq=False):
    """Writes of VGPRs. Writes of row -1 are what a wave starts with.

    Attributes:
        row, wave, register: int32 [write].
        value: uint32 [write, lane], the whole register afterwards.
        tag: int32 [write, lane], rows of `Tags.words`.
        undefined_at: int32 [some], the writes behind which some bits are undefined;
        undefined: uint32 [some, lane], set bits are undefined bits.
    """

    row: NDArray[np.int32]
    wave: NDArray[np.int32]
    register: NDArray[np.int32]
    value: NDArray[np.uint32]
    tag: NDArray[np.int32]
    undefined_at: NDArray[np.int32]
    undefined: NDArray[np.uint32]

    __repr__ = brief


class ScalarWrites(Struct, frozen=True, eq=False):
    """Writes of scalar registers, by encoding; arrays as in `VectorWrites`, without lanes."""

    row: NDArray[np.int32]
    wave: NDArray[np.int32]
    register: NDArray[np.int32]
    value: NDArray[np.uint32]
    tag: NDArray[np.int32]
    undefined: NDArray[np.uint32]

    __repr__ = brief


class Accesses(Struct, frozen=True, eq=False):
    """Loads and stores of vector memory; an instruction with two addresses makes two.

    Attributes:
        row: int32 [access].
        space: uint8 [access], position in `SPACES`.
        store: bool [access]; a read-modify-write is a store.
        size: int32 [access], bytes of a lane.
        register: int32 [access], first VGPR that holds or gets the data; -1 where that is none.
        address: int64 [access, lane]: byte in the workgroup's LDS or the lane's scratch, or virtual address;
            INACTIVE in lanes that do not access.
    """

    row: NDArray[np.int32]
    space: NDArray[np.uint8]
    store: NDArray[np.bool_]
    size: NDArray[np.int32]
    register: NDArray[np.int32]
    address: NDArray[np.int64]

    __repr__ = brief


class Stored(Struct, frozen=True, eq=False):
    """What stores stored, dword by dword; of an atomic one, what memory held afterwards.

    Attributes:
        access: int32 [dword], the store.
        dword: int32 [dword], which of the store; of fewer than four bytes the low ones count.
        value: uint32 [dword, lane].
        tag: int32 [dword, lane], rows of `Tags.words`.
        undefined: uint32 [dword, lane], undefined bits.
    """

    access: NDArray[np.int32]
    dword: NDArray[np.int32]
    value: NDArray[np.uint32]
    tag: NDArray[np.int32]
    undefined: NDArray[np.uint32]

    __repr__ = brief


class Tags(Struct, frozen=True, eq=False):
    """Where bits come from.

    A *nibble tag* is NOTHING; n > 0: a moved copy of nibble n - 1 of the buffers, which are numbered through by
    `starts` (low nibble of a byte first); or -n < 0: computed from what row n - 1 of `origins` says.

    Attributes:
        words: int32 [word, 8], the nibble tags of a 32-bit register, low first. Word 0 has NOTHING. A negative
            number of a word is no row: it is the tag of all eight nibbles. Nor is RUN + n: that is the n-th dword of
            the buffers, moved as it is.
        origins: int32 [origin, column], see `tags.py`.
        starts: buffer, in the order of `Recording.buffers` -> number of its first nibble.
    """

    words: NDArray[np.int32]
    origins: NDArray[np.int32]
    starts: tuple[int, ...]

    __repr__ = brief

    def nibbles(self, words: NDArray[np.int32]) -> NDArray[np.int32]:
        """Nibble tags of words [...]: int32 [..., 8]."""
        return nibbles_of(self.words, words)


def nibbles_of(rows: NDArray[np.int32], words: NDArray[np.int32]) -> NDArray[np.int32]:
    """Nibble tags [..., 8] of words [...]: of rows, one that all nibbles have, or those of a dword of the buffers."""
    uniform, run = words < 0, words >= RUN
    found: NDArray[np.int32] = rows[np.where(uniform | run, 0, words)]
    if uniform.any():
        found[uniform] = words[uniform][:, None]
    if run.any():
        found[run] = (words[run] - RUN)[:, None] * 8 + np.arange(1, 9, dtype=np.int32)
    return found


class Outline(Struct, frozen=True, eq=False):
    """A recorded run without its arrays.

    Attributes:
        kernel: its name in the manifest.
        target: processor.
        size: problem size, names and values.
        lanes: of a wave.
        vgprs: rows of the register file, AccVGPRs included.
        first_acc: row in which AccVGPRs begin; -1 where there are none.
        lds_size: bytes of a workgroup.
        waves: those that were recorded, group by group.
        code: instructions in the order of the code.
        buffers: of the launch.
        cut: why it does not go on to the end; "" where it does.
        sources: file -> line -> its text, as far as they may be shown.
        evidence: what it rests on.
        unjudged: why operands of matrix instructions are held beside nothing; "" where `Recording.moments` says
            what they need.
    """

    kernel: str
    target: str
    size: Mapping[str, int]
    lanes: int
    vgprs: int
    first_acc: int
    lds_size: int
    waves: tuple[Wave, ...]
    code: tuple[Instruction, ...]
    buffers: tuple[Buffer, ...]
    cut: str
    sources: Mapping[str, Mapping[int, str]]
    evidence: Evidence
    unjudged: str

    __repr__ = brief


class Recording(Outline, frozen=True, eq=False):
    """A recorded run.

    Attributes:
        steps, vectors, scalars, accesses, stored, tags: see their classes.
        moments: what operands of matrix instructions held and needed in the coded runs of `trace/`; None where
            nobody asked, or `unjudged` says why nobody can.
    """

    steps: Steps
    vectors: VectorWrites
    scalars: ScalarWrites
    accesses: Accesses
    stored: Stored
    tags: Tags
    moments: Moments | None = None
    memo: dict[str, Any] = field(default_factory=dict)

    __repr__ = brief

    def steps_of(self, wave: int) -> Ints:
        """Rows of a wave (a position in `waves`), in its order: int64 [step]."""
        return np.flatnonzero(self.steps.wave == wave)

    def wave_at(self, group: Group, index: int) -> int | None:
        """Position in `waves`; None for a wave that was not recorded."""
        wanted = Wave(group, index)
        return self.waves.index(wanted) if wanted in self.waves else None

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        parts = (self.steps, self.vectors, self.scalars, self.accesses, self.stored, self.tags)
        return sum(a.nbytes for part in parts for a in astuple(part) if isinstance(a, np.ndarray))
