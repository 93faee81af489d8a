"""Something that is wrong, in words for the author of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, in words for the kernel's author.

    Attributes:
        check: short name of the law that was broken ("operand-layout", "replication"...).
        what: one sentence: the diagnosis.
        where: ordered name -> value: wave, lane, vgpr, half, LDS byte, source line...
        expected, observed: the element or value in words.
        hint: the next step.
        count: how many slots show it (one root cause is one finding).
        came_from: where the wrong value came from: the load that wrote the register, the store that
            wrote the LDS byte; "" where unknown.
    """

    check: str
    what: str
    where: Mapping[str, object] = field(default_factory=dict)
    expected: str = ""
    observed: str = ""
    hint: str = ""
    count: int = 1
    came_from: str = ""
