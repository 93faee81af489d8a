"""LDS as it is where accesses race, where stores meet, or where loads look for elements that lie elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from layoutprobe.gate.record import alone
from layoutprobe.observe.lds_traffic import Passage, Traffic
from layoutprobe.place import Place
from layoutprobe.report.finding import Finding
from layoutprobe.report.lds_picture import ROLES, LdsPicture, Role, cropped
from layoutprobe.trace.blame import places_in_lds
from layoutprobe.trace.problem import NoProductError
from layoutprobe.trace.subject import RunStoppedError, Subject, UndecidedError
from layoutprobe.trace.traffic import traffic_of

_COLLISIONS = ("races/lost-store", "swizzle/collision")
_RACES = ("races/read-after-write", "races/write-after-read", "races/write-after-write")


def lds_picture_of(subject: Subject, finding: Finding) -> LdsPicture | None:
    """LDS where a finding shows; None where the finding is not about bytes of LDS, or they were not seen."""
    if subject.arch is None:
        return None
    banks = subject.arch.lds.banks
    if finding.rule.id in _RACES:
        return _raced(subject, finding, banks)
    if finding.rule.id in _COLLISIONS:
        return _collided(subject, finding, banks)
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
    traffic = traffic_of(subject, group, alone(subject, (group,)))
    met = next(_meetings(traffic, place, finding.related[0].place), None) if traffic else None
    if traffic is None or met is None:
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


def _collided(subject: Subject, finding: Finding, banks: int) -> LdsPicture | None:
    """Stores to the same bytes: of lanes of one wave at once, or of two waves, or by two instructions of one."""
    place, group = finding.place, finding.place.workgroup
    if group is None or place.lds_byte is None:
        return None
    traffic = traffic_of(subject, group, alone(subject, (group,)))
    partner = finding.related[0].place if finding.related else None
    met = next(_collisions(traffic, place, partner), None) if traffic else None
    if traffic is None or met is None:
        return None
    mine, other = (traffic.passages[at] for at in met)
    count = -(-traffic.size // 4)
    here, there = (passage.bytes(4 * count).reshape(-1, 4) for passage in (mine, other))
    itself = met[0] == met[1]
    both = ((here > 1) if itself else (here > 0) & (there > 0)).any(axis=1)
    role = _stored(traffic, min(met), count)
    for name, where in (
        ("one", here.any(axis=1)),
        ("other", there.any(axis=1) & (not itself)),
        ("both", both),
    ):
        role[where] = ROLES.index(name)
    says: dict[Role, str] = {
        "nothing": "never stored", "stored": "stored before", "one": _access(subject, mine),
        "both": "several of its lanes store here at once" if itself else "both store here, in no order",
    }  # fmt: skip
    if not itself:
        says["other"] = _access(subject, other)
    first, *more = mine.lanes(place.lds_byte).tolist()
    partners = more if itself else other.lanes(place.lds_byte).tolist()
    note = (
        f"at byte {place.lds_byte}, bank {place.lds_byte // 4 % banks}, lane {first} of wave {mine.wave} and "
        f"lane {partners[0]} of wave {other.wave} meet"
    )
    return LdsPicture("LDS where stores meet", banks, *cropped(role, banks), says, note)


def _collisions(traffic: Traffic, place: Place, partner: Place | None) -> Iterator[tuple[int, int]]:
    """Stores to the byte, by their numbers: one of several lanes twice, or two between the same barriers."""
    byte = place.lds_byte
    assert byte is not None
    stores = [(at, one) for at, one in enumerate(traffic.passages) if one.store and one.lanes(byte).size]
    mine = [(at, one) for at, one in stores if (one.pc, one.wave) == (place.pc, place.wave)]
    for number, one in mine:
        if one.lanes(byte).size > 1 and (partner is None or partner.wave == place.wave):
            yield number, number
    for number, one in mine:
        for at, other in stores:
            fits = partner is None or (other.pc, other.wave) == (partner.pc, partner.wave)
            if fits and at != number and one.interval == other.interval:
                yield number, at


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
