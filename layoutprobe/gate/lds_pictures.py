"""LDS as it is where a race happens, or where loads look for elements that lie elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.gate.record import alone
from layoutprobe.observe.lds_traffic import Passage, Traffic, TrafficOf
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding
from layoutprobe.report.lds_picture import ROLES, LdsPicture, Role, cropped
from layoutprobe.trace.blame import places_in_lds
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.subject import RunSpec, RunStoppedError, Subject, UndecidedError

_RACES = ("races/read-after-write", "races/write-after-read", "races/write-after-write")


def lds_picture_of(subject: Subject, finding: Finding) -> LdsPicture | None:
    """LDS where a finding shows; None where the finding is not about bytes of LDS, or they were not seen."""
    if subject.arch is None:
        return None
    banks = subject.arch.lds.banks
    if finding.rule.id in _RACES:
        return _raced(subject, finding, banks)
    if finding.check == "swizzle" and finding.place.matrix:
        try:
            return _misplaced(subject, finding, finding.place.matrix, banks)
        except (NoProductError, UndecidedError, RunStoppedError):
            return None
    return None


def _raced(subject: Subject, finding: Finding, banks: int) -> LdsPicture | None:
    """The two accesses of a race, where they first meet."""
    place, group = finding.place, finding.place.workgroup
    if group is None or place.lds_byte is None or not finding.related:
        return None
    watch = TrafficOf(group)
    run = subject.run(RunSpec("integers", (watch,), alone=alone(subject, (group,))), partial=True)
    traffic = run.record(Traffic)
    met = next(_meetings(traffic, place, finding.related[0].place), None)
    if met is None:
        return None
    one, other = (traffic.passages[at] for at in met)
    count = traffic.size // 4
    role = _stored(traffic, min(met), count)
    touched = [passage.dwords(count) > 0 for passage in (one, other)]
    for name, where in (("one", touched[0]), ("other", touched[1]), ("both", touched[0] & touched[1])):
        role[where] = ROLES.index(name)
    says: dict[Role, str] = {
        "nothing": "never stored", "stored": "stored before",
        "one": _access(subject, one), "other": _access(subject, other), "both": "both, in no order",
    }  # fmt: skip
    ends = ((one, place), (other, finding.related[0].place))
    lanes = " and ".join(
        f"lane {_lane(end, place.lds_byte, who.lane)} of wave {end.wave}" for end, who in ends
    )
    note = f"at byte {place.lds_byte}, bank {place.lds_byte // 4 % banks}, {lanes} meet"
    return LdsPicture("LDS where they meet", banks, *cropped(role, banks), says, note)


def _meetings(traffic: Traffic, place: Place, other: Place) -> Iterator[tuple[int, int]]:
    """Pairs of accesses, by their numbers, that both touch the byte between the same barriers."""
    assert place.lds_byte is not None
    mine, theirs = (
        [
            (number, one)
            for number, one in enumerate(traffic.passages)
            if (one.pc, one.wave) == (where.pc, where.wave) and one.lanes(place.lds_byte).size
        ]
        for where in (place, other)
    )
    for number, one in mine:
        for partner, two in theirs:
            if one.interval == two.interval and number != partner:
                yield number, partner


def _stored(traffic: Traffic, until: int, count: int) -> NDArray[np.int8]:
    role = np.full(count, ROLES.index("nothing"), np.int8)
    for passage in traffic.before(until):
        role[passage.dwords(count) > 0] = ROLES.index("stored")
    return role


def _access(subject: Subject, passage: Passage) -> str:
    """ "wave 2 stores, gemm.hip:18"."""
    line = subject.line(passage.pc) or f"PC {passage.pc:#x}"
    return f"wave {passage.wave} {'stores' if passage.store else 'loads'}, {line.rpartition('/')[2]}"


def _lane(passage: Passage, byte: int, told: int | None) -> int:
    """A lane that accesses a byte: that which the finding tells of, if it does."""
    lanes = passage.lanes(byte)
    return told if told is not None and told in lanes else int(lanes[0])


def _misplaced(subject: Subject, finding: Finding, matrix: str, banks: int) -> LdsPicture | None:
    """Where a wave looks for the elements of an operand, and where they lie."""
    found = places_in_lds(subject, matrix, finding.place.lds_byte)
    if found is None:
        return None
    count = -(-max(int(part.max()) for part in (found.tile, found.read, found.lies)) // 4) + 1
    role = np.full(count, ROLES.index("nothing"), np.int8)
    role[found.tile // 4] = ROLES.index("stored")
    astray = found.read != found.lies
    read, lies = (np.isin(np.arange(count), part[astray] // 4) for part in (found.read, found.lies))
    for name, where in (("one", read), ("other", lies), ("both", read & lies)):
        role[where] = ROLES.index(name)
    says: dict[Role, str] = {
        "nothing": "no element of the tile", "stored": f"elements of {matrix}",
        "one": f"wave {found.wave} looks here for what lies elsewhere",
        "other": f"what wave {found.wave} needs lies here, and it looks elsewhere",
        "both": "both: it looks here for one element, and needs another",
    }  # fmt: skip
    first = int(np.flatnonzero(astray)[0])
    note = (
        f"{int(astray.sum())} of {astray.size} elements are looked for in a wrong place, the first at byte "
        f"{found.read[first]} (bank {found.read[first] // 4 % banks}); it lies at byte {found.lies[first]} "
        f"(bank {found.lies[first] // 4 % banks})"
    )
    return LdsPicture(
        f"LDS: where {matrix} lies, and where it is looked for", banks, *cropped(role, banks), says, note
    )
