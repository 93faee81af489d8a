"""What can be wrong with LDS and stores of a probe, whatever the cause; rules of causes are in `cause_rules`."""

from __future__ import annotations

from layoutprobe.report.finding import Rule

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
