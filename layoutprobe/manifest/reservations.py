"""What a manifest leaves out or lets pass, so that "holds" says less than it seems to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import gcd, prod

from layoutprobe.errors import UsageError
from layoutprobe.manifest.binding import bind, require_asked
from layoutprobe.manifest.model import Gemm, KernelCase, NoContract, Sizes, Tolerance
from layoutprobe.manifest.sizes import DEPTH

_FEW = 4
_VECTOR = 4
"""Elements that wide loads take at once, at least."""
TILE = 16
"""Rows of the smallest matrix instruction's tile that is common."""
_NAMES = ("M", "N", "K")
_OF_MATRIX = 2
"""Axes of one."""
_LOOSE_RELATIVE, _LOOSE_ABSOLUTE = 0.02, 0.1
"""Sums of products of standard normal numbers are about the square root of K; bf16 has a rounding error of
0.4 %."""


def reservations(case: KernelCase, known: Collection[str], *, uneven: bool | None = None) -> tuple[str, ...]:
    """Each in a few words, for a headline.

    Args:
        case: the kernel.
        known: names of all checks.
        uneven: what came of a size that is no multiple of what all those of the manifest are: whether all holds
            there; None where none was tried.
    """
    found = (
        [f"guesses of `init` in the manifest, not filled in: {_lines(case.guessed)}"] if case.guessed else []
    )
    if case.checks and (left := [name for name in known if name not in case.checks]):
        found.append(f"not asked for: {', '.join(left)}")
    if isinstance(case.contract, NoContract) and not case.judged_by:
        found.append("outputs not judged: contract none")
    found += _loose(case.tolerance, "")
    for argument in case.arguments:
        if argument.tolerance is not None:
            found += _loose(argument.tolerance, f" of {argument.name}")
    if len(case.sizes) == 1:
        found.append("a single size")
    else:
        found.extend(_whole(case, uneven))
    return tuple(found)


def _loose(given: Tolerance, of: str) -> Iterator[str]:
    for what, value, loose in (
        ("absolute", given.absolute, _LOOSE_ABSOLUTE),
        ("relative", given.relative, _LOOSE_RELATIVE),
    ):
        if value is not None and value > loose:
            yield f"loose tolerance{of}: {what} {value:g}"


def _lines(numbers: Sequence[int]) -> str:
    first, more = ", ".join(map(str, numbers[:_FEW])), len(numbers) - _FEW
    return f"line{'s' * (len(numbers) > 1)} {first}" + (f" and {more} more" if more > 0 else "")


def _whole(case: KernelCase, uneven: bool | None) -> Iterator[str]:
    """Sizes that no tile ever ends within, depths that never vary, and extents that one cannot tell apart."""
    wrong = ": others go wrong" if uneven is False else ""
    extents = _extents(case)
    given = [tuple(sizes.values()) for sizes in case.sizes]
    forced = [name for name in case.sizes[0] if _asks_for(case, name, TILE)]
    if case.tile:
        even = [
            f"{name} ({step})"
            for name, step in case.tile.items()
            if step > 1 and all(sizes[name] % step == 0 for sizes in case.sizes)
        ]
        if even:
            yield f"only whole tiles of {', '.join(even)}"
    elif uneven:
        pass
    elif all(value % TILE == 0 for values in extents or given for value in values) and not forced:
        yield f"only sizes that are multiples of {TILE}{wrong}"
    elif steps := steps_of(case):
        yield f"every {' and '.join(f'{name} is a multiple of {step}' for name, step in steps.items())}{wrong}"
    if DEPTH in case.sizes[0] and len({sizes[DEPTH] for sizes in case.sizes}) == 1:
        yield f"{DEPTH} is {case.sizes[0][DEPTH]} in every size"
    of_product = dict(zip(_NAMES, zip(*extents, strict=True), strict=False))
    alike = _alike({name: values for name, values in of_product.items() if name not in _written_out(case)})
    numbers, sizes = _numbers(case), set(zip(*given, strict=True))
    varying = {name: values for name, values in numbers.items() if len(set(values)) > 1}
    if same := [" = ".join(names) for names in {**_alike(varying), **alike}.values()]:
        yield f"{', '.join(same)} in every size: one taken for the other is not seen"
    if even := [name for name, values in varying.items() if _are_powers(values) and values not in sizes]:
        yield f"{' and '.join(even)} {'are' if len(even) > 1 else 'is'} a power of two in every size"
    if _never_batched(case):
        yield "the batch is 1 in every size"
    if fixed := [f"{name} is {values[0]}" for name, values in numbers.items() if name not in varying]:
        more = [f"{len(fixed) - _FEW} more are fixed"] if len(fixed) > _FEW else []
        yield f"{', '.join([*fixed[:_FEW], *more])} in every size"


def _are_powers(values: Sequence[float]) -> bool:
    """Whether all are powers of two, so that shifts and masks divide by them; 1 and 2 are counts of something."""
    return min(values) >= _VECTOR and all(
        float(value).is_integer() and int(value).bit_count() == 1 for value in values
    )


def _alike(values: Mapping[str, tuple[float, ...]]) -> dict[tuple[float, ...], list[str]]:
    """Values at all sizes -> all that have these, where several have."""
    found: dict[tuple[float, ...], list[str]] = {}
    for name, one in values.items():
        found.setdefault(one, []).append(name)
    return {one: names for one, names in found.items() if len(names) > 1}


def _numbers(case: KernelCase) -> dict[str, tuple[float, ...]]:
    """What the kernel is handed at each size, but for what the manifest says is fixed."""
    try:
        handed = [bind(case, sizes).scalars for sizes in case.sizes]
    except UsageError:  # it is told where that size is run
        return {}
    found: dict[str, tuple[float, ...]] = {}
    for argument in case.arguments:
        values = [one[argument.name] for one in handed if argument.name in one]
        numbers = tuple(value for value in values if not isinstance(value, str))
        if len(numbers) == len(handed) and argument.name not in case.fixed:
            found[argument.name] = numbers
    return found


def steps_of(case: KernelCase) -> dict[str, int]:
    """Extents that vary, and have a power of two in common for which the manifest does not ask."""
    found = {}
    for name in case.sizes[0]:
        values = {sizes[name] for sizes in case.sizes}
        common = gcd(*values)
        step = common & -common
        if len(values) > 1 and step >= _VECTOR and not _asks_for(case, name, step):
            found[name] = step
    return found


def _asks_for(case: KernelCase, name: str, step: int) -> bool:
    """Whether the manifest rules out extents that are no multiple of a power of two, by `multiple` or by `where`."""
    if case.multiple.get(name, 1) % step == 0:
        return True
    half = step // 2  # a multiple of all smaller ones
    beside = [{**sizes, name: sizes[name] + way * half} for sizes in case.sizes for way in (1, -1)]
    return bool(case.where) and all(is_ruled_out(case, sizes) for sizes in beside if sizes[name] > 0)


def is_ruled_out(case: KernelCase, sizes: Sizes) -> bool:
    """Whether the manifest says by `where` that nobody launches that size."""
    try:
        require_asked(case, sizes)
    except UsageError:
        return True
    return False


def _product(case: KernelCase) -> Gemm | None:
    contract = case.contract
    return contract if isinstance(contract, Gemm) else getattr(contract, "product", None)


def _shapes(case: KernelCase) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Shapes of A and of the output at each size; none where the contract is no product, or a size is no size."""
    product = _product(case)
    if product is None:
        return
    try:
        for sizes in case.sizes:
            buffers = bind(case, sizes).buffers
            yield buffers[product.a].shape, buffers[product.d].shape
    except UsageError:  # it is told where that size is run
        return


def _extents(case: KernelCase) -> list[tuple[int, int, int]]:
    """M, N and K of the product at each size."""
    return [(d[-2], d[-1], a[-1]) for a, d in _shapes(case) if min(len(a), len(d)) >= 2]


def _written_out(case: KernelCase) -> set[str]:
    """Those of M, N and K that are numbers in the shapes: they can be no others."""
    product = _product(case)
    shapes = [] if product is None else [case.argument(name).shape for name in (product.d, product.a)]
    if not shapes or min(map(len, shapes)) < _OF_MATRIX:
        return set()
    extents = zip(_NAMES, (*shapes[0][-2:], shapes[1][-1]), strict=True)
    return {name for name, extent in extents if extent.text.isdigit()}


def _never_batched(case: KernelCase) -> bool:
    product = _product(case)
    split = int(product is not None and product.split_k)
    leads = [d[split:-2] for _, d in _shapes(case)]
    return bool(leads) and all(lead and prod(lead) == 1 for lead in leads)
