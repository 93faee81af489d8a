"""Where wrong operands were loaded: the load and the store that their values passed through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from layoutprobe.isa.inst import Inst
from layoutprobe.isa.kind import Kind
from layoutprobe.observe.load_path import FollowBack, LoadPaths, Step, Target
from layoutprobe.report.finding import Related, Role
from layoutprobe.trace.copies import differing_copies
from layoutprobe.trace.culprits import culprits_of
from layoutprobe.trace.places import where
from layoutprobe.trace.subject import RunSpec, Subject

Path = tuple[Step, ...]


def load_paths(subject: Subject) -> Mapping[Target, Path]:
    """Steps back to the load of its value, for every slot that a finding may show.

    One more run of the kernel follows them all. Those that could not be followed are left out.
    """
    return subject.once(_load_paths).paths


def exchanges(subject: Subject) -> Mapping[Target, Step]:
    """What may have brought the value of a slot from another lane, for the slots of `load_paths`."""
    return subject.once(_load_paths).exchanges


def _load_paths(subject: Subject) -> LoadPaths:
    wrong = [culprit.slot for culprit in culprits_of(subject) if culprit.slot.matrix in "AB"]
    wrong = wrong or [copy.slot for copy in differing_copies(subject)]
    if not wrong:
        return LoadPaths({}, complete=True, exchanges={})
    follow = FollowBack(tuple(dict.fromkeys(slot.target for slot in wrong)))
    return subject.run(RunSpec("integers", (follow,)), partial=True).record(LoadPaths)


def related(subject: Subject, path: Sequence[Step]) -> tuple[Related, ...]:
    """The steps of a value, from the load that a register got it from back to where it began."""
    return tuple(
        Related(_role(step.inst), replace(where(subject, step.inst, step.who), lds_byte=step.lds_byte))
        for step in path
    )


def _role(inst: Inst) -> Role:
    if Kind.LOAD in inst.kind:
        return "loaded by"
    return "stored by" if inst.kind & (Kind.STORE | Kind.ATOMIC) else "computed by"


def lds_byte(path: Sequence[Step]) -> int | None:
    """LDS byte that the value was last read from; None where it did not pass through LDS."""
    return next((step.lds_byte for step in path if step.lds_byte is not None), None)
