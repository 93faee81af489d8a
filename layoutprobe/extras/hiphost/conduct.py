"""What a host program does with the device, held against the rules of `checks.conduct`."""

from __future__ import annotations

import threading
from collections.abc import Collection

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.checks.conduct import COPY, LAW, LEAK, NAME, UNDEFINED, UNORDERED
from layoutprobe.extras.hiphost.heap import Allocation
from layoutprobe.extras.hiphost.order import Used, Work
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding, Rule
from layoutprobe.report.gate import CheckResult

LEAKS = "leaks"
_BRINGING = frozenset({"lds-safety/undefined-read", "memory/undefined-control"})
"""Rules of kernels that leave undefined bytes in their outputs."""
_SHOWN = 4
"""Allocations that a finding of leaks names."""


class Conduct:
    """Findings about the programs of one run, one for each rule and allocation."""

    def __init__(self, asked: Collection[str]) -> None:
        """Args: asked: "host", "leaks", or both."""
        self.asked = frozenset(asked)
        self._found: dict[tuple[Rule, str], Finding] = {}
        self._lock = threading.Lock()

    def result(self, told: Collection[str] = ()) -> CheckResult | None:
        """What was found; None where that is nothing.

        Args:
            told: rules that kernels break: undefined bytes that one of them brings about are told there.
        """
        brought = not _BRINGING.isdisjoint(told)
        with self._lock:
            found = tuple(f for f in self._found.values() if f.rule is not UNDEFINED or not brought)
        return CheckResult(NAME, LAW, "finding", found) if found else None

    def beyond(self, allocation: Allocation, at: int, size: int) -> None:
        """Bytes from an offset of an allocation on are more than it has."""
        self._add(
            COPY,
            allocation,
            f"{size} bytes from byte {at} of {allocation.name} on are copied or filled",
            expected=f"at most {allocation.size - at}: it has {allocation.size} bytes",
            observed=f"{at + size - allocation.size} bytes too many",
        )

    def copied(self, allocation: Allocation, at: int, shadow: NDArray[np.uint8]) -> None:
        """The host gets bytes, of which the set bits of the shadow are undefined."""
        bad = np.flatnonzero(shadow)
        if bad.size:
            first, last = at + int(bad[0]), at + int(bad[-1])
            self._add(
                UNDEFINED,
                allocation,
                f"{bad.size} of {shadow.size} bytes that are copied to the host from {allocation.name} "
                "were never written",
                expected="bytes that a kernel, a copy or a fill has set",
                observed=f"the first is byte {first} of {allocation.size}, the last byte {last}",
            )

    def unordered(self, allocation: Allocation, new: tuple[Work, Used], old: tuple[Work, Used]) -> None:
        """Work uses memory that work before it uses, too, in no order. It is shown at a kernel, if one is."""
        (work, used), (other, by) = new, old
        place = used.place if used.inst or not by.inst else by.place
        does = "stores to" if used.store else "loads from"
        found = Finding(
            UNORDERED,
            f"{work.name} on stream {work.stream} {does} {allocation.name}, which {other.name} on stream "
            f"{other.stream} uses, too",
            replace(place, buffer=allocation.name),
            expected="one of the two to wait for the other: an event, or the host that waits for the stream",
            observed="nothing between them orders them",
            hint=UNORDERED.mend,
        )
        if NAME in self.asked:
            self._keep(found)

    def left(self, allocations: Collection[Allocation]) -> None:
        """A program has ended and left memory allocated."""
        kept = [one for one in allocations if one.is_the_programs]
        if not kept or LEAKS not in self.asked:
            return
        names = ", ".join(f"{one.name} ({one.size} bytes)" for one in kept[:_SHOWN])
        more = f" and {len(kept) - _SHOWN} more" if len(kept) > _SHOWN else ""
        count = f"{len(kept)} allocation{'s' if len(kept) > 1 else ''}"
        self._keep(
            Finding(
                LEAK,
                f"{count}, {sum(one.size for one in kept)} bytes, were never freed",
                Place(buffer=kept[0].name),
                expected="every allocation freed before the program ends",
                observed=names + more,
                hint=LEAK.mend,
            )
        )

    def _add(self, rule: Rule, allocation: Allocation, what: str, *, expected: str, observed: str) -> None:
        if NAME in self.asked:
            place = Place(buffer=allocation.name)
            self._keep(Finding(rule, what, place, expected=expected, observed=observed, hint=rule.mend))

    def _keep(self, found: Finding) -> None:
        with self._lock:
            key = found.rule, found.place.buffer or ""
            known = self._found.get(key)
            self._found[key] = found if known is None else replace(known, count=known.count + 1)
