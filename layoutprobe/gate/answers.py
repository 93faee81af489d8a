"""Tests against a number that no size which the manifest lets pass makes come out otherwise.

Of a test that compares an extent, or an extent and a constant, it is known how it comes out at every size:
`K > 15` is true of all multiples of 16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from layoutprobe.isa.inst import Inst
from layoutprobe.manifest.model import KernelCase, Sizes
from layoutprobe.observe.choices import Choices, comes_out, tested


def answerable(choices: Choices, case: KernelCase, seen: Sequence[tuple[Sizes, Choices]]) -> Choices:
    """Choices without tests that always came out the same, and at no multiple of what the manifest asks for would
    not.

    Args:
        choices: of all sizes together.
        case: the kernel.
        seen: of each size.
    """
    settled = {
        pc
        for pc, inst in choices.tests.items()
        if len(choices.came_out[pc]) == 1 and _is_settled(pc, inst, choices, case, seen)
    }
    return replace(choices, tests={pc: inst for pc, inst in choices.tests.items() if pc not in settled})


def _is_settled(
    pc: int, inst: Inst, choices: Choices, case: KernelCase, seen: Sequence[tuple[Sizes, Choices]]
) -> bool:
    (flag,) = choices.came_out[pc]
    known = [(sizes, one.compared.get(pc)) for sizes, one in seen if pc in one.tests]
    if any(values is None or len(values) != 1 for _, values in known):
        return False
    pairs = [(sizes, value) for sizes, values in known for value in values or ()]
    fitting = list(_extents(pairs))
    return bool(fitting) and all(
        comes_out(inst, at + beside) == flag
        for name, beside in fitting
        for at in _tried(case.multiple.get(name, 1), inst, beside)
    )


def _extents(pairs: Sequence[tuple[Sizes, int]]) -> Iterator[tuple[str, int]]:
    """Extents that what was compared goes with, and what is added to each."""
    for name in pairs[0][0] if pairs else ():
        beside = {value - sizes[name] for sizes, value in pairs}
        if len(beside) == 1 and len({sizes[name] for sizes, _ in pairs}) > 1:
            yield name, next(iter(beside))


def _tried(step: int, inst: Inst, beside: int) -> Iterator[int]:
    """The least extent, and those around where it comes out otherwise: between them, and beyond, nothing changes."""
    number, _ = tested(inst) or (0, False)
    near = (number - beside) // step * step
    yield from (at for at in (step, near - step, near, near + step, near + 2 * step) if at >= step)
