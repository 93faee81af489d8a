"""What a kernel did in launches that were made for its draft."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from layoutprobe.brief import brief
from layoutprobe.codeobj.parameters import Signature
from layoutprobe.drafting.assumed import NOTHING, Assumed
from layoutprobe.drafting.launch_sites import LaunchSite
from layoutprobe.drafting.products import FoundProduct
from layoutprobe.drafting.seen import SeenLaunch
from layoutprobe.manifest.model import Sizes


class Made(Struct, frozen=True):
    """An argument that a launch before has stored.

    Attributes:
        argument: its number.
        kernel: what the manifest calls the kernel that is launched before.
        name: what that calls it.
        lines: its type and extents, as the manifest has them there.
    """

    argument: int
    kernel: str
    name: str
    lines: tuple[str, ...]


class Trial(Struct, frozen=True):
    """What a kernel did.

    Attributes:
        launches: in which the product was seen.
        product: see there; None where the data shows none.
        values: the sizes of each launch, by the names of the kernel's parameters.
        site: the launch in the host code, by the sizes of the product.
        tile: what a workgroup makes, and how deep a step of K is; empty where that is not clear.
        multiple: what the kernel relies on.
        signature: of the kernel, with members for structures.
        members: number of an argument that is a member of a structure -> its offset there.
        indices: numbers of arguments whose elements, up to `INDICES`, say how far others are read or written.
        made: what a kernel before has stored; None where it stands alone.
        filled: in the last launch integers are any, as codes of numbers may be.
        where: what else holds of its sizes.
        assumed: what the launches rest on that no host code says.
    """

    launches: tuple[SeenLaunch, ...]
    product: FoundProduct | None
    values: tuple[Sizes, ...]
    site: LaunchSite
    tile: Sizes = field(default_factory=dict)
    multiple: Sizes = field(default_factory=dict)
    signature: Signature | None = None
    members: Mapping[int, int] = field(default_factory=dict)
    indices: frozenset[int] = frozenset()
    made: Made | None = None
    filled: bool = False
    where: tuple[str, ...] = ()
    assumed: Assumed = NOTHING

    __repr__ = brief
