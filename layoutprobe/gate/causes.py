"""One fault, one finding: which findings of a kernel are consequences of which.

A fault shows in several checks. A finding follows from another one where the mechanism by which it does
is known and nothing speaks against it: the two name a common instruction or source line, and the first
is about something that comes earlier on the way of a value. All stay in the results of their checks;
reports lead with the causes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.gate.advice import advised
from layoutprobe.report.finding import Finding
from layoutprobe.report.gate import CheckResult, Status

_TIMING = ("stale-tile", "other-step", "incomplete-sum", "unexplained", "half-wave-copy", "copies-differ")
"""Names of rules about operands that a value which comes too late or too early explains."""
_OF_PARTNERS = ("other-step", "other-buffer", "stale-tile")
"""Names of rules about an operand that does not fit its partner: either of the two may be said not to."""
_HANDED_OVER = ("global-handover", "signal-before-store", "stale-cache")
"""Races about what a wave loads that another one has stored."""
_OF_OTHER_TILES = ("shifted", "other-wave", "thread-for-lane")
"""Names of rules about operands that would be right in another tile."""
_OF_STORES = (
    "never-written", "written-twice", "out-of-bounds", "into-padding", "into-input", "element-size",
    "wrong-accumulator", "beyond-edge",
)  # fmt: skip
"""Names of rules about which elements are stored, not about which sums go where."""
_IN_USE = "buffer-in-use"
"""The name of a race by which a tile is lost that waits for its turn."""
_UNORDERED = (
    _IN_USE,
    "read-after-write",
    "write-after-read",
    "write-after-write",
    "divergent-barrier",
)
"""Races in LDS."""


_NUMBER = re.compile(r"\d+")


class _Way(Struct, frozen=True):
    """A way in which one finding brings about another.

    Attributes:
        cause, effect: checks.
        holds: whether it does for these two, beside what `_explain` asks of all.
    """

    cause: str
    effect: str
    holds: Callable[[Finding, Finding], bool]


def linked(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The results, with every finding that follows from another one naming it, and next steps that lead on."""
    results = advised(results)
    every = [found for result in results for found in result.findings]
    status = {result.check: result.status for result in results}
    roots = _roots(every, status)
    return tuple(
        replace(result, findings=tuple(replace(f, follows=roots.get(id(f))) for f in result.findings))
        if result.findings
        else result
        for result in results
    )


def _roots(every: Sequence[Finding], status: Mapping[str, Status]) -> dict[int, Finding]:
    """Finding (by identity) -> the cause at the beginning of its chain."""
    follows: dict[int, Finding] = {}
    for way in _WAYS:
        for cause, effect in _pairs(every, way):
            root = follows.get(id(cause), cause)
            if root is effect or id(effect) in follows or not way.holds(cause, effect):
                continue
            if way.effect == "numerics" and not _reaches(cause, effect, status):
                continue
            follows[id(effect)] = root
            for known, old in follows.items():
                follows[known] = root if old is effect else old
    return _of_one_change(every, follows)


def _of_one_change(every: Sequence[Finding], follows: dict[int, Finding]) -> dict[int, Finding]:
    """All that is found follows from the first finding that names a change with which every check holds."""
    first = next((found for found in every if found.mended), None)
    return follows if first is None else {id(found): first for found in every if found is not first}


def _pairs(every: Sequence[Finding], way: _Way) -> Iterator[tuple[Finding, Finding]]:
    return (
        (cause, effect)
        for cause in every
        for effect in every
        if cause.check == way.cause and effect.check == way.effect and cause is not effect
    )


def _reaches(cause: Finding, effect: Finding, status: Mapping[str, Status]) -> bool:
    """Whether a cause explains wrong values.

    Coded runs have alpha 1 and beta 0: a wrong factor that explains every element is a fault of its own.
    A race that left every operand and every store right has changed no value, but for values that nothing else
    explains and that are wrong at some of its sizes alone: coded runs meet elsewhere than those on values.
    """
    if effect.name == "wrong-factor":
        return False
    fewer = len(effect.sizes) < len(cause.sizes) and all(size in cause.sizes for size in effect.sizes)
    if cause.check == "races" and effect.name == "wrong-values" and fewer:
        return True
    all_right = status.get("operand-provenance") == status.get("epilogue") == "holds"
    return not (cause.check in ("races", "waits") and all_right)


# What speaks for it


def _meet(cause: Finding, effect: Finding) -> bool:
    """They name a common instruction or line."""
    return bool(cause.sites & effect.sites)


def _always(cause: Finding, effect: Finding) -> bool:
    return True


def _through_lds(found: Finding) -> bool:
    """It is about bytes of LDS, or about sums, of which that is not known."""
    places = [found.place, *(step.place for step in found.related)]
    return found.name == "incomplete-sum" or any(place.lds_byte is not None for place in places)


def _lost_in_lds(cause: Finding, effect: Finding) -> bool:
    """Two elements have one place in LDS: what is loaded from there is wrong, whoever looks at it."""
    if cause.name != "collision" or not _through_lds(effect):
        return False
    return effect.check == "lds-safety" or effect.name in _TIMING


def _too_late(cause: Finding, effect: Finding) -> bool:
    """Waves that nothing orders, and an operand that would be right at another time."""
    if cause.name == _IN_USE and effect.name in _OF_PARTNERS:
        return _through_lds(effect)
    if cause.name not in _UNORDERED or effect.name not in _TIMING:
        return False
    sure = cause.name == "divergent-barrier" or effect.name in ("stale-tile", "incomplete-sum")
    return _through_lds(effect) and (sure or _meet(cause, effect))


def _not_yet(cause: Finding, effect: Finding) -> bool:
    """Waves that nothing orders, and a load of what is stored only later; or of the buffer that was to be filled."""
    if cause.name == _IN_USE and effect.name == "undefined-read":
        return True
    return cause.name == "divergent-barrier" or (cause.name in _UNORDERED and _meet(cause, effect))


def _unstored(cause: Finding, effect: Finding) -> bool:
    """What nobody stored is what the operand holds."""
    return _meet(cause, effect) and effect.name in _TIMING and "never defined" in effect.observed


def _wrong_place(cause: Finding, effect: Finding) -> bool:
    """An access to a wrong place of LDS shows in what meets there, too."""
    return cause.name not in _TIMING and _meet(cause, effect)


def _of_accumulators(cause: Finding, effect: Finding) -> bool:
    """What is wrong with an accumulator shows where it is stored; a sum that misses some k is stored as it should."""
    return cause.name.startswith("accumulator") or (cause.name != "incomplete-sum" and _meet(cause, effect))


def _same_matrix(cause: Finding, effect: Finding) -> bool:
    """The two are about one matrix, and none has another name for what is wrong."""
    named = effect.name in (cause.name, "unexplained")
    return cause.place.matrix == effect.place.matrix and named


def _better_name(cause: Finding, effect: Finding) -> bool:
    """What is wrong with a matrix is more than where it lies in LDS."""
    return cause.place.matrix == effect.place.matrix and effect.name != "collision"


def _one_function(cause: Finding, effect: Finding) -> bool:
    """The same is wrong in two matrices or registers, by the same line or in the same words."""
    line = bool(cause.place.line) and cause.place.line == effect.place.line
    said = [found.what.replace(f" {found.place.matrix} ", " ") for found in (cause, effect)]
    sure = line or said[0] == said[1] or cause.name in (*_OF_PARTNERS, "incomplete-sum")
    return cause.name == effect.name and sure


def _named_elsewhere(cause: Finding, effect: Finding) -> bool:
    """What is wrong with values is known at one size, and at another one only that they are."""
    return cause.name != "wrong-values" and effect.name == "wrong-values"


def _of_outputs(cause: Finding, effect: Finding) -> bool:
    """The same is wrong in two outputs that one instruction stores, as where a kernel has a problem for each."""
    said = [_NUMBER.sub("", found.what.partition(": ")[2]) for found in (cause, effect)]
    stored = cause.place.pc is not None and cause.place.pc == effect.place.pc
    return cause.name == effect.name and stored and said[0] == said[1]


def _same_address(cause: Finding, effect: Finding) -> bool:
    """Two tiles of C at one place are stored, and with beta loaded, by two waves."""
    return effect.name not in _UNORDERED and _meet(cause, effect)


def _overwritten(cause: Finding, effect: Finding) -> bool:
    """A sum that another store takes the place of is missed, wherever that store should have gone."""
    if cause.name == "global-overwrite":
        return effect.name in ("incomplete-sum", "other-wave", "shifted")
    if cause.check != "epilogue" or cause.name == "never-written":
        return False
    others = cause.name == "written-twice" and effect.name in _OF_OTHER_TILES
    return effect.name == "incomplete-sum" or others


def _stored_elsewhere(cause: Finding, effect: Finding) -> bool:
    """Sums that go to other elements of C than their own: what an operand has beyond the edge of its matrix, or of
    other lines, is then held against the wrong elements, at ragged sizes alone."""
    if cause.name in _OF_STORES:
        return False
    # What is stored elsewhere is so at whole sizes, too; at ragged ones alone it follows from the operand.
    return effect.name in ("beyond-edge", "line-order") and set(effect.sizes) < set(cause.sizes)


def _tiles_exchanged(cause: Finding, effect: Finding) -> bool:
    """A tile of C that is made twice in place of another one: its sums have every k twice, and none is missing."""
    return (
        cause.name == "never-written"
        and effect.name == "incomplete-sum"
        and "never added" not in effect.observed
    )


def _wrong_index(cause: Finding, effect: Finding) -> bool:
    """What is added comes from another element: that another wave stores there is no matter of their order."""
    return (
        cause.name == "misplaced-addend"
        and effect.name == "global-handover"
        and (_meet(cause, effect) or _same_buffer(cause, effect))
    )


def _handed_over(cause: Finding, effect: Finding) -> bool:
    """Partial results that were taken too early, or of another tile: sums are of too many k, or too few."""
    return cause.name in _HANDED_OVER and effect.name in (*_TIMING, "shifted", "never-written")


def _lost_before(cause: Finding, effect: Finding) -> bool:
    """What lies in a buffer is overwritten, and so what others load from there is not what they look for."""
    return (
        cause.name == "global-overwrite" and effect.name in _HANDED_OVER and _same_buffer(cause, effect)
    ) or (
        cause.name == effect.name
        and cause.name in (*_HANDED_OVER, "global-overwrite")
        and _same_buffer(cause, effect)
    )


def _same_store(cause: Finding, effect: Finding) -> bool:
    """Elements of another size go to other places, and leave the buffer."""
    sized = cause.name == "element-size" and effect.name in ("unexplained", "out-of-bounds")
    return (sized or effect.name == "out-of-bounds") and _meet(cause, effect)


def _same_buffer(cause: Finding, effect: Finding) -> bool:
    return bool(cause.place.buffer) and cause.place.buffer == effect.place.buffer


def _same_load(cause: Finding, effect: Finding) -> bool:
    """The wait for a load lets it be outstanding: where its register is not read, it is overwritten."""
    loads = [
        {step.place.pc for step in found.related if step.role == "loaded by"} for found in (cause, effect)
    ]
    late = (cause.name, effect.name) == ("read-before-wait", "overwritten-before-wait")
    return late and bool(loads[0] & loads[1])


def _beyond_both(cause: Finding, effect: Finding) -> bool:
    """What is stored beyond the end of a buffer was taken from beyond what LDS holds."""
    return cause.name == "out-of-bounds" and effect.name == "undefined-read" and _meet(cause, effect)


def _leaves_buffer(cause: Finding, effect: Finding) -> bool:
    """A load looks elsewhere than it should, and there leaves its buffer."""
    named = cause.name not in _TIMING and not _holds_nothing(cause)
    return effect.name == "load-out-of-bounds" and named and _meet(cause, effect)


def _holds_nothing(found: Finding) -> bool:
    """Whether what is taken for a shift begins with what no element is: that is what lies behind a buffer's end."""
    return found.name == "shifted" and "no element" in found.observed


def _index_of(cause: Finding, effect: Finding) -> bool:
    """A load with another index, which leaves its buffer at some sizes."""
    return effect.name == "load-out-of-bounds" and cause.name != "wrong-values" and _meet(cause, effect)


def _loads_nothing(cause: Finding, effect: Finding) -> bool:
    """A load that leaves its buffer brings nothing: k are missing, and a tile of C is taken for another."""
    if cause.name != "load-out-of-bounds":
        return False
    return effect.name in ("incomplete-sum", "never-written") or (
        (effect.name in _TIMING or _holds_nothing(effect)) and _meet(cause, effect)
    )


def _brings_no_element(cause: Finding, effect: Finding) -> bool:
    """A load leaves its buffer at all sizes at which elements seem to lie elsewhere in LDS: it has brought none."""
    return (
        cause.name == "load-out-of-bounds"
        and bool(effect.sizes)
        and {*effect.sizes} <= {*cause.sizes}
        and _meet(cause, effect)
    )


_WAYS = (
    _Way("memory", "swizzle", _brings_no_element),
    # The map of a tile is injective or is not, whoever looks at it.
    _Way("swizzle", "operand-provenance", _lost_in_lds),
    _Way("swizzle", "lds-safety", _lost_in_lds),
    _Way("swizzle", "operand-provenance", _same_matrix),
    _Way("operand-provenance", "swizzle", _better_name),
    # One function for two matrices.
    _Way("swizzle", "swizzle", _one_function),
    _Way("operand-provenance", "operand-provenance", _one_function),
    _Way("lds-safety", "lds-safety", _one_function),
    _Way("waits", "waits", _one_function),
    _Way("waits", "waits", _same_load),
    # Values that come at a wrong time, or never.
    _Way("races", "operand-provenance", _too_late),
    _Way("races", "swizzle", _too_late),
    _Way("races", "lds-safety", _not_yet),
    _Way("lds-safety", "operand-provenance", _unstored),
    # A wrong address: others find there what they do not look for.
    _Way("operand-provenance", "lds-safety", _wrong_place),
    _Way("swizzle", "lds-safety", _wrong_place),
    _Way("epilogue", "lds-safety", _beyond_both),
    _Way("operand-provenance", "races", _wrong_place),
    _Way("swizzle", "races", _wrong_place),
    _Way("memory", "memory", _one_function),
    _Way("races", "races", _lost_before),
    _Way("races", "operand-provenance", _handed_over),
    _Way("races", "epilogue", _handed_over),
    _Way("operand-provenance", "memory", _leaves_buffer),
    _Way("memory", "operand-provenance", _loads_nothing),
    _Way("memory", "epilogue", _loads_nothing),
    # Where sums go, before what they are said to lack there.
    _Way("epilogue", "operand-provenance", _stored_elsewhere),
    _Way("epilogue", "operand-provenance", _overwritten),
    _Way("epilogue", "operand-provenance", _tiles_exchanged),
    _Way("operand-provenance", "epilogue", _of_accumulators),
    _Way("races", "operand-provenance", _overwritten),
    _Way("epilogue", "epilogue", _same_store),
    _Way("epilogue", "epilogue", _one_function),
    _Way("epilogue", "memory", _same_buffer),
    _Way("epilogue", "races", _same_address),
    _Way("numerics", "races", _wrong_index),
    # Wrong values come last.
    _Way("numerics", "numerics", _named_elsewhere),
    _Way("numerics", "numerics", _of_outputs),
    _Way("numerics", "memory", _index_of),
    *(
        _Way(check, "numerics", _always)
        for check in ("operand-provenance", "swizzle", "lds-safety", "races", "epilogue", "memory")
    ),
)
"""In the order in which they are tried: the first that holds counts."""
