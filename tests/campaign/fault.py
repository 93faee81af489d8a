"""What a planted fault is, as data."""

from __future__ import annotations

from pathlib import Path

from campaign.planting import HELPERS, Edit, Size, WaitEdit, planted
from msgspec import Struct

from layoutprobe.manifest.model import KernelCase

BLOCK: tuple[Size, ...] = ((128, 64, 48),)
"""One workgroup of most kernels, three K steps of 16."""
BLOCKS: tuple[Size, ...] = ((256, 128, 32),)
"""2 x 2 workgroups of most kernels."""
RAGGED: tuple[Size, ...] = ((136, 72, 40),)
"""2 x 2 workgroups, of which three hang over the edge; rows stay aligned to 16 bytes."""
ODD: tuple[Size, ...] = ((130, 70, 37),)
"""As RAGGED, with rows that are not aligned, so that elements are loaded one by one."""


class Fault(Struct, frozen=True):
    """One fault in a correct kernel, and what the gate must say of it.

    Attributes:
        name: unique; the kernel's name and a few words.
        kind: class of the fault: "index", "barrier"...
        kernel: name in the manifest of the seeds.
        edits: what plants it; none where it lies in the launch.
        check: the check that must name it.
        words: all of them must stand in that check's finding: its class in the gate's words.
        also: checks that find a consequence of their own, in addition to `numerics`, which always may.
        beside: checks of which a finding stands beside the cause, as the edit plants two faults.
        at: text of the line that the cause must name, where it is not near an edit.
        sizes: M, N, K to run; the smallest at which it shows.
        grid, dynamic_lds, beta: of the launch, where they are not the manifest's.
        unseen: why no check can see it; "" where one must.
    """

    name: str
    kind: str
    kernel: str
    edits: tuple[Edit | WaitEdit, ...]
    check: str = ""
    words: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    at: str = ""
    sizes: tuple[Size, ...] = BLOCK
    grid: tuple[str, ...] = ()
    dynamic_lds: int | None = None
    beta: float | None = None
    unseen: str = ""


def helper(old: str, new: str) -> Edit:
    """An edit of the header that all kernels share."""
    return Edit(old, new, HELPERS)


def plant(folder: Path, fault: Fault) -> KernelCase:
    """The kernel with the fault in it; its sources go to an empty folder."""
    return planted(
        folder,
        fault.kernel,
        fault.edits,
        fault.sizes,
        grid=fault.grid,
        dynamic_lds=fault.dynamic_lds,
        beta=fault.beta,
    )
