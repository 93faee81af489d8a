"""All planted faults."""

from __future__ import annotations

from campaign import cdna, edges, operands, synchronisation, transposing
from campaign.fault import Fault

FAULTS: tuple[Fault, ...] = (
    *operands.FAULTS,
    *synchronisation.FAULTS,
    *edges.FAULTS,
    *cdna.FAULTS,
    *transposing.FAULTS,
)
