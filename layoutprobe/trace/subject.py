"""One kernel at one size, and the runs of it that anybody may ask for.

Nothing here runs a kernel: the gate does, once for all that ask for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from msgspec import Struct, field
from numpy.typing import NDArray

from layoutprobe.arch import Arch
from layoutprobe.brief import brief
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from layoutprobe.manifest.binding import Binding, bind
from layoutprobe.manifest.coding import Coding
from layoutprobe.manifest.inputs import asks_only
from layoutprobe.manifest.model import Contract, KernelCase, Sizes
from layoutprobe.observe.base import Recorder
from layoutprobe.observe.matrix import OperandRecorder
from layoutprobe.observe.tiles import TileObserver

Record = TypeVar("Record")
Made = TypeVar("Made")
RecorderFactory = Callable[[], Recorder]
_SMALL = 4


class RunSpec(Struct, frozen=True):
    """Which run of the kernel is wanted; equal specs are one run.

    Attributes:
        inputs: name of an input kind, see `layoutprobe.manifest.inputs`: "integers" (small, exact
            in every dtype, no permutation survives), "normal" (standard normal; bytes of all values),
            "sparse" (small integers, B mostly zero: sums that 16 bits hold), "scaled" (rows of A and
            columns of B tiny, large or zero), "nonfinite" (NaN and infinity among small integers),
            "bits" (words of random bits), "unknown" (such words undefined; a fault is the answer and no finding),
            "moved X 5 -1" (as "normal", but element 5 of X is far lower) and those of `manifest.unusual` (a fault is
            the answer, too),
            "zeros", "ones", "code0", "code1"... (the digits of `subject.coding`).
        observers: factories of the observers that watch it.
        alpha, beta: factors of a Gemm contract in this run; None: those of the contract.
        order: of the workgroups, or of the waves in each, see `trace.orders`; "" for side by side. In others a fault
            is the answer, and no finding.
        alone: numbers of the workgroups that run, x fastest, and no others do; empty for all. Outputs are incomplete,
            and a fault is the answer.
        again: a later one of such launches, which finds these buffers as those before have left them; a fault is the
            answer.
        launch: with `again`, which launch it is: the second, or the third.
        doubted: some of what it loads is undefined, as an observer says; a fault is the answer.
    """

    inputs: str = "integers"
    observers: tuple[RecorderFactory, ...] = ()
    alpha: float | None = None
    beta: float | None = None
    order: str = ""
    alone: frozenset[int] = frozenset()
    again: tuple[str, ...] = ()
    launch: int = 2
    doubted: bool = False

    @property
    def asks_only(self) -> bool:
        """A fault of this run is an answer, and no finding."""
        return bool(self.order or self.alone or self.again or self.doubted) or asks_only(self.inputs)


class Recorded(Struct, frozen=True, eq=False):
    """One run.

    Attributes:
        spec: which.
        inputs: argument -> logical tensor before the run, for buffers of role "in" and "inout"
            whose contents were defined. bf16 comes as float32; padding is left out.
        outputs: argument -> logical tensor after it, for roles "out" and "inout"; empty after a
            fault.
        undefined: argument -> set bits that are undefined (unsigned, shaped like the output);
            only those that have any.
        stray: argument -> bytes that the kernel changed and must not: in an input, or in the
            padding of any buffer.
        alpha, beta: factors of this run, under a Gemm contract.
        records: what the observers saw.
        fault: why the run stopped early, None where it came to its end. The records then hold
            what was seen until there.
        astray: accesses outside of every buffer, one of each instruction, behind which the run went on.
        unmade: argument -> elements that launches before were to store, and have not; only those that have any.
        handed: argument -> logical tensor that launches before have left in it, where it held something before them
            all, which `inputs` has.
    """

    spec: RunSpec
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    undefined: Mapping[str, NDArray[Any]]
    stray: Mapping[str, int]
    alpha: float
    beta: float
    records: tuple[object, ...]
    fault: ExecutionError | None = None
    astray: tuple[ExecutionError, ...] = ()
    unmade: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    handed: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    __repr__ = brief

    def record(self, kind: type[Record]) -> Record:
        """The record of that type; LookupError where no observer of this run makes one."""
        for record in self.records:
            if isinstance(record, kind):
                return record
        raise LookupError(f"no observer of this run makes a {kind.__name__}")


class Runner(Protocol):
    """Runs the kernel, and remembers."""

    def __call__(self, spec: RunSpec) -> Recorded:
        """The run of that spec; never raises for a fault of the kernel, which it records."""
        ...


class Subject(Struct, frozen=True, eq=False):
    """One kernel for one target at one size.

    Attributes:
        case: its entry in the manifest.
        binding: grid, block, and where each element of each buffer lies. In faults and accesses
            the allocation of argument X is the Region named "buffer X".
        arch: facts of the target; None where `arch/` does not know it.
        code, kernel: the code object.
        insts: instructions by PC. Decoded when first asked for.
        coding: the numbers that coded inputs carry.
        runner: the gate's.
        observers: of the plain run.
        reference: the user's function of a Reference contract; None where the user did not allow
            it to be loaded, or there is none.
        sample: workgroups whose records there are, where these are not of all; outputs are.
        has_assembly: whether somebody wrote instructions by hand: the sources hold assembly, or are not known.
        memo: what was worked out about it so far, see `once`. Copies of a subject share it.
    """

    case: KernelCase
    binding: Binding
    arch: Arch | None
    code: CodeObject
    kernel: Kernel
    load_insts: Callable[[], Mapping[int, Inst]]
    coding: Coding
    runner: Runner
    observers: tuple[RecorderFactory, ...] = ()
    reference: Callable[..., Any] | None = None
    sample: frozenset[int] = frozenset()
    has_assembly: Callable[[], bool] = lambda: True
    memo: dict[object, Any] = field(default_factory=dict)

    @property
    def sizes(self) -> Sizes:
        """Name -> value."""
        return self.binding.sizes

    @property
    def contract(self) -> Contract:
        """What the outputs are."""
        return self.case.contract

    @property
    def insts(self) -> Mapping[int, Inst]:
        """Instructions by PC."""
        return self.load_insts()

    @property
    def small(self) -> bool:
        """Its buffers are at most a few times as large as those of the smallest size, and no workgroup is left out:
        worth further runs."""
        return not self.sample and self.once(_is_small)

    @property
    def taken(self) -> tuple[int, ...]:
        """Bytes of all buffers at each size of the manifest."""
        return self.once(_taken)

    @property
    def copies_every(self) -> int:
        """Lanes that lie so far apart hold copies of one operand; 0 where nothing is replicated."""
        forms = self.arch.probed if self.arch else ()
        return max((form.copies_every(self.kernel.wavefront_size) for form in forms), default=0)

    def line(self, pc: int) -> str:
        """ "file:line" of a PC, "" where unknown."""
        return str(self.code.lines.find(pc) or "")

    def once(self, make: Callable[[Subject], Made]) -> Made:
        """What a function says of this subject: worked out when first asked for, then remembered."""
        if make not in self.memo:
            self.memo[make] = make(self)
        made: Made = self.memo[make]
        return made

    def run(self, spec: RunSpec, *, partial: bool = False) -> Recorded:
        """A run of the kernel.

        Args:
            spec: which.
            partial: give what was recorded also where the run stopped at a fault.

        Raises:
            RunStoppedError: the run stopped, and `partial` is False.
        """
        recorded = self.runner(spec)
        if recorded.fault is not None and not partial:
            raise RunStoppedError(recorded.fault)
        return recorded

    def plain(self, *, partial: bool = False) -> Recorded:
        """The run on small integers, watched by the observers of all selected checks."""
        return self.run(RunSpec("integers", self.observers), partial=partial)

    def coded(self) -> tuple[Recorded, ...]:
        """One run per digit of `coding`, low digit first, watched for matrix operands and tiles in LDS.

        A factor folded into an operand, or C into the accumulator, would change the codes: alpha is 1, beta 0.
        """
        watched = (OperandRecorder, TileObserver)
        digits = range(self.coding.code.digits)
        return tuple(self.run(RunSpec(f"code{digit}", watched, alpha=1.0, beta=0.0)) for digit in digits)

    def epilogue(self, *observers: RecorderFactory, partial: bool = False) -> Recorded:
        """A run on zeros with alpha 1 and beta 0, for an observer that replaces accumulators."""
        return self.run(RunSpec("zeros", observers, alpha=1.0, beta=0.0), partial=partial)

    def levels(self, *observers: RecorderFactory) -> Recorded:
        """A run like that of `epilogue`, in which what is multiplied or added beside A @ B is 1."""
        return self.run(RunSpec("ones", observers, alpha=1.0, beta=0.0))


def _is_small(subject: Subject) -> bool:
    return subject.binding.nbytes <= _SMALL * min(subject.taken)


def _taken(subject: Subject) -> tuple[int, ...]:
    return tuple(bind(subject.case, sizes).nbytes for sizes in subject.case.sizes)


class UndecidedError(Exception):
    """A check cannot decide; the text says why. The same as returning `CHECK.undecided(text)`."""


class RunStoppedError(Exception):
    """A run that a check needs stopped at a fault."""

    def __init__(self, fault: ExecutionError) -> None:
        super().__init__(fault.what)
        self.fault = fault
