"""Where wrong operands were loaded: the load and the store that their values passed through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutprobe.isa.kind import Kind
from layoutprobe.observe.load_path import FollowBack, LoadPaths, Step, Target
from layoutprobe.trace.copies import differing_copies
from layoutprobe.trace.culprits import culprits_of
from layoutprobe.trace.places import site
from layoutprobe.trace.subject import RunSpec, Subject

Path = tuple[Step, ...]


def load_paths(subject: Subject) -> Mapping[Target, Path]:
    """Steps back to the load of its value, for every slot that a finding may show.

    One more run of the kernel follows them all. Those that could not be followed are left out.
    """
    return subject.once(_load_paths)


def _load_paths(subject: Subject) -> Mapping[Target, Path]:
    wrong = [culprit.slot for culprit in culprits_of(subject) if culprit.slot.matrix in "AB"]
    wrong = wrong or [copy.slot for copy in differing_copies(subject)]
    if not wrong:
        return {}
    follow = FollowBack(tuple(dict.fromkeys(slot.target for slot in wrong)))
    return subject.run(RunSpec("integers", (follow,)), partial=True).record(LoadPaths).paths


def in_words(subject: Subject, path: Sequence[Step]) -> str:
    """ "ds_load_b128 at x.hip:82 (LDS byte 64), stored by ds_store_b128 at x.hip:73 (wave 4, lane 2), ..."."""
    parts: list[str] = []
    for before, step in zip((None, *path), path, strict=False):
        text = site(subject, step.inst)
        if before is not None and before.lds_byte is not None and Kind.LOAD not in step.inst.kind:
            text = f"stored by {text} (wave {step.who.wave}, lane {step.who.lane})"
        else:
            text = f"from {text}" if parts else text
            text += f" (LDS byte {step.lds_byte})" if step.lds_byte is not None else ""
        parts.append(text)
    return ", ".join(parts)


def lds_byte(path: Sequence[Step]) -> int | None:
    """LDS byte that the value was last read from; None where it did not pass through LDS."""
    return next((step.lds_byte for step in path if step.lds_byte is not None), None)
