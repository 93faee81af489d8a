"""Two kernels that host code launches one after the other, of which the second reads what the first has made: the
product that they compute together, seen in the data of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from layoutprobe.codeobj.members import taken_apart
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.codeobj.parameters import Signature
from layoutprobe.drafting.attempt import Attempt
from layoutprobe.drafting.launch_sites import LaunchSite, renamed
from layoutprobe.drafting.outcome import Made, Trial
from layoutprobe.drafting.products import FoundProduct, find_product
from layoutprobe.drafting.seen import SeenLaunch
from layoutprobe.errors import ProbeError


def handed_on(first: LaunchSite, made: int, second: LaunchSite) -> int | None:
    """Number of the argument of a second launch, in the same block of host code, that is one of the first; None where
    it takes no such."""
    name = first.arguments[made]
    behind = first.block_at == second.block_at and first != second
    return second.arguments.index(name) if behind and name and name in second.arguments else None


def chained(
    code: CodeObject, kernel: Kernel, signature: Signature, site: LaunchSite, before: Trial, made: Made
) -> Trial | None:
    """Launches of the second kernel on what the first has made, and the product of both; None where there is none.

    Args:
        code, kernel, signature, site: the second kernel, and its launch.
        before: what the first did.
        made: the argument of the second that the first has stored.
    """
    if before.product is None or before.signature is None:
        return None
    site = site.taken_apart(signature.parameters)
    code, kernel, signature, members = taken_apart(code, kernel, signature)
    if members:
        return None
    try:
        attempt = Attempt(code, kernel, signature.parameters, site)
    except (ProbeError, ValueError):
        return None
    if not set(attempt.names) <= set(before.values[0]):
        return None
    kinds, stored = next(attempt.ways()), before.product.d.argument
    launches, joint = [], []
    for launch, values in zip(before.launches, before.values, strict=True):
        given = launch.buffers[stored].after
        if given is None:
            return None
        seen = attempt.run({name: values[name] for name in attempt.names}, kinds, {made.argument: given})
        if seen is None:
            return None
        launches.append(seen)
        joint.append(_joint(launch, seen, stored, made.argument))
    parameters = (*before.signature.parameters, *signature.parameters)
    found = find_product(joint, [one.name for one in parameters], [one.dtype for one in parameters], {})
    own = _of_the_second(found, len(before.signature.parameters), before.product) if found else None
    if own is None:
        return None
    names = _names(before)
    return Trial(
        tuple(launches),
        own,
        before.values,
        renamed(attempt.site, names),
        before.tile,
        before.multiple,
        signature,
        made=made,
    )


def _joint(first: SeenLaunch, second: SeenLaunch, stored: int, made: int) -> SeenLaunch:
    """Both as one launch, of the arguments of both; what goes from one to the other is left out."""
    offset = len(first.values)
    buffers = {i: one for i, one in first.buffers.items() if i != stored}
    buffers.update({offset + i: one for i, one in second.buffers.items() if i != made})
    x, y, _ = second.grid
    return replace(second, grid=(x, y, 1), values=(*first.values, *second.values), buffers=buffers)


_ELSEWHERE = -1
"""Of an argument that only the first kernel has."""


def _of_the_second(found: FoundProduct, offset: int, before: FoundProduct) -> FoundProduct | None:
    """The product by the second kernel's arguments; None where the first has one of what comes behind A @ B."""
    behind = (found.d.argument, found.c, found.bias, found.residual, *found.scales)
    if any(i is not None and i < offset for i in behind) or found.split_k:
        return None

    def moved(i: int | None) -> int | None:
        return None if i is None else i - offset

    return replace(
        found,
        a=replace(found.a, argument=_ELSEWHERE),
        b=replace(found.b, argument=_ELSEWHERE),
        d=replace(found.d, argument=found.d.argument - offset),
        c=moved(found.c),
        bias=moved(found.bias),
        residual=moved(found.residual),
        scales=tuple(i - offset for i in found.scales),
        shapes={i - offset: shape for i, shape in found.shapes.items()},
        kinds={i - offset: kind for i, kind in found.kinds.items()},
        sizes=before.sizes,
        ambiguous=before.ambiguous,
    )


def _names(before: Trial) -> Mapping[str, str]:
    """Name in the host code -> size of the product."""
    assert before.product is not None
    sizes: Sequence[Mapping[str, int]] = before.product.sizes
    return {
        host: size
        for size in sizes[0]
        for host in before.values[0]
        if np.array_equal([one[size] for one in sizes], [one[host] for one in before.values])
    }
