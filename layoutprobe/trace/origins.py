"""Where a matrix operand came from, in words; runs the kernel once more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from layoutprobe.isa.kind import Kind
from layoutprobe.observe.origin import OriginObserver, Origins, Step, Target
from layoutprobe.trace.places import site
from layoutprobe.trace.subject import RunSpec, Subject

Chain = tuple[Step, ...]


def chains_of(subject: Subject, targets: Iterable[Target]) -> Mapping[Target, Chain]:
    """Steps from each target back to the load of its value; those that could be followed."""
    wanted = tuple(targets)
    recorded = subject.run(RunSpec("integers", (partial(OriginObserver, wanted),)), partial=True)
    return recorded.record(Origins).chains


def in_words(subject: Subject, chain: Sequence[Step]) -> str:
    """ "ds_load_b128 at x.hip:82 (LDS byte 64), stored by ds_store_b128 at x.hip:73 (wave 4, lane 2), ..."."""
    parts: list[str] = []
    for before, step in zip((None, *chain), chain, strict=False):
        text = site(subject, step.inst)
        if before is not None and before.lds_byte is not None and Kind.LOAD not in step.inst.kind:
            text = f"stored by {text} (wave {step.who.wave}, lane {step.who.lane})"
        else:
            text = f"from {text}" if parts else text
            text += f" (LDS byte {step.lds_byte})" if step.lds_byte is not None else ""
        parts.append(text)
    return ", ".join(parts)


def lds_byte(chain: Sequence[Step]) -> int | None:
    """LDS byte that the value was last read from; None where it did not pass through LDS."""
    return next((step.lds_byte for step in chain if step.lds_byte is not None), None)
