"""Launches that nobody made yet: a kernel run on the emulator as its host code would launch it, so that a manifest
can be drafted from what it did."""

from __future__ import annotations

from msgspec.structs import replace

from layoutprobe.codeobj.members import taken_apart
from layoutprobe.codeobj.model import CodeObject, Kernel
from layoutprobe.codeobj.parameters import Signature
from layoutprobe.drafting.attempt import Attempt
from layoutprobe.drafting.launch_sites import LaunchSite
from layoutprobe.drafting.outcome import Trial
from layoutprobe.drafting.strides_told import apart, with_distances
from layoutprobe.drafting.untangling import Launched, untangled
from layoutprobe.errors import ProbeError


def tried(code: CodeObject, kernel: Kernel, signature: Signature, site: LaunchSite) -> Trial | None:
    """Launches of a kernel, and the product that it computed, if any; None where it could not be run."""
    site = site.taken_apart(signature.parameters)
    code, kernel, signature, members = taken_apart(code, kernel, signature)
    found = _of_padded_batches(code, kernel, signature, site) or _tried(code, kernel, signature, site)
    return replace(found, signature=signature, members=members) if found else None


def _of_padded_batches(
    code: CodeObject, kernel: Kernel, signature: Signature, site: LaunchSite
) -> Trial | None:
    """A batch of which the caller says how far matrices and their rows lie apart: with one matrix alone the order is
    found in which they lie, from which both distances follow."""
    one = apart(site, signature.parameters)
    alone = _tried(code, kernel, signature, one) if one else None
    if alone is None or alone.product is None:
        return None
    found = _tried(code, kernel, signature, with_distances(site, signature.parameters, alone.product))
    return found if found and found.product and "batch" in found.product.sizes[0] else None


def _tried(code: CodeObject, kernel: Kernel, signature: Signature, site: LaunchSite) -> Trial | None:
    try:
        attempt = Attempt(code, kernel, signature.parameters, site)
    except (ProbeError, ValueError):
        return None
    plain: Trial | None = None
    for kinds in attempt.ways():
        if attempt.late:
            break
        launches, values = attempt.launches(kinds)
        if not launches:
            continue
        made = Launched(attempt, launches, values, kinds)
        found = attempt.product(launches, values)
        if found is None and plain is None:
            made = untangled(made)
            found = made.attempt.product(made.launches, made.values) if made.attempt is not attempt else None
        if found is not None and made.attempt.stored_so(found):
            made = made.again(made.attempt) or made
            found = made.attempt.product(made.launches, made.values)
        if found is not None:
            return made.attempt.finished(made.launches, made.values, found, kinds)
        plain = plain or _no_product(made)
    return plain


def _no_product(made: Launched) -> Trial:
    """What the launches show of a kernel that is no product, and some more at other sizes."""
    attempt, kinds, launches, values = made.attempt, made.kinds, [*made.launches], [*made.values]
    indices = attempt.indices(launches[0], values[0], kinds)
    more = attempt.stretched(launches, values, kinds)
    launches += [seen for seen, _ in more]
    values += [size for _, size in more]
    more, relied = attempt.ragged(launches, values, kinds)
    filled = attempt.filled(launches, values, kinds, indices)
    more += filled
    return Trial(
        (*launches, *(seen for seen, _ in more)), None, (*values, *(size for _, size in more)), attempt.site,
        multiple=relied, indices=indices, filled=bool(filled), where=attempt.where, assumed=attempt.assumed,
    )  # fmt: skip
