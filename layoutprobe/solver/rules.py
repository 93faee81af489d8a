"""What can be wrong with the loads, the LDS and the stores of a probe."""

from __future__ import annotations

from layoutprobe.report.finding import Rule
from layoutprobe.solver.diagnose import LDS_OFFSET, UNEXPLAINED
from layoutprobe.solver.hypotheses import HYPOTHESES


def cause_rules(check: str, matrices: str) -> dict[str, Rule]:
    """Name of a cause -> its rule in a check, of all causes that can hit one of these matrices."""
    causes = [h for h in HYPOTHESES if set(h.matrices) & set(matrices)]
    rules = {
        cause.name: Rule(f"{check}/{cause.name}", cause.title, cause.why, cause.hint) for cause in causes
    }
    why = (
        "Slots hold other elements than they must, or none, and no known cause explains all of them. The "
        "finding names the first slot, what it holds and what belongs there."
    )
    mend = "compare row and column of each access with what the slots hold: `layoutprobe layout` draws it"
    unknown = Rule(f"{check}/{UNEXPLAINED}", "slots hold other elements than they must", why, mend)
    return rules | {UNEXPLAINED: unknown}


def offset_rule(check: str) -> Rule:
    """The rule of a check about accesses of LDS that are a constant distance from their place."""
    why = (
        "All wrong elements lie the same number of bytes from where the load looks: the address function "
        "is right, and an offset or base is not."
    )
    mend = "compare offset and base of the access that is named with those of its neighbours"
    return Rule(f"{check}/{LDS_OFFSET}", "accesses of LDS miss their place by a constant", why, mend)


OPERAND_RULES = cause_rules("operand-layout", "AB")
"""Cause -> rule, of operands that the instruction needs otherwise."""
STORE_RULES = cause_rules("epilogue", "CD")
"""Cause -> rule, of accumulators that are stored elsewhere than they belong."""

NEVER_WRITTEN = Rule(
    "epilogue/never-written",
    "elements of C are never written",
    "No store reaches these elements: they keep what the memory held before, which may be right by chance.",
    "check the grid, the tile offsets, and the bounds tests of the epilogue",
)
WRITTEN_TWICE = Rule(
    "epilogue/written-twice",
    "elements of C are written more than once",
    "Several stores of different values reach one element, and which stays is not defined. Where the elements "
    "that they should have reached are missing, the finding says so.",
    "check which waves and workgroups own a tile, and whether both half-waves store the same rows",
)
FOREIGN = Rule(
    "epilogue/no-accumulator",
    "elements of C hold no accumulator's value",
    "The element holds something that no accumulator held: the epilogue computes on its values, or somebody "
    "else stores there.",
    "check whether C is scaled, or stored by others",
)
LOST = Rule(
    "epilogue/accumulator-lost",
    "an accumulator reaches no element of C",
    "The value was overwritten by another store, or stored out of bounds.",
    "check row and column of the store for every lane and VGPR",
)
DOUBLED = Rule(
    "epilogue/accumulator-doubled",
    "an accumulator is stored to several elements of C",
    "One value stands in several elements, of which at most one is right.",
    "check whether the grid covers C twice, and which register the store takes",
)
COPIES_DIFFER = Rule(
    "replication/copies-differ",
    "the copies of an operand differ between half-waves",
    "AMD's documents want the operand in both half-waves. The emulator's outputs read the copy of their own "
    "half-wave; which one a card reads is unmeasured, so copies that differ may be wrong on a card.",
    "load with lane % 16, in all lanes",
)
STORE_OFF_SCHEME = Rule(
    "lds-store/off-scheme",
    "the store does not follow the LDS scheme",
    "An element lies in another byte of LDS than the scheme puts it in, so that a load which follows the "
    "scheme returns another element.",
    "check the index function of the store",
)
LOAD_OFF_SCHEME = Rule(
    "lds-load/off-scheme",
    "the load does not follow the LDS scheme",
    "LDS holds every element where the scheme puts it, but the load reads another byte.",
    "check row, column and index function of the load",
)

RULES = (
    *OPERAND_RULES.values(),
    *STORE_RULES.values(),
    NEVER_WRITTEN,
    WRITTEN_TWICE,
    FOREIGN,
    LOST,
    DOUBLED,
    COPIES_DIFFER,
    STORE_OFF_SCHEME,
    LOAD_OFF_SCHEME,
)
"""All of them."""
