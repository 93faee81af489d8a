"""Packing code in HIP: one device function, which the compiler inlines."""

from __future__ import annotations

from collections.abc import Iterator

from layoutprobe.codegen.moves import Copy, Moves, Permute, Step, Swap
from layoutprobe.layouts.polynomial import Polynomial

INDENT = "    "


def pack_function(moves: Moves, name: str = "pack") -> str:
    """A function `void pack(raw, packed, lane)` of two arrays of dwords; the last line ends without a newline."""
    lane = ", unsigned lane" if _uses_lane(moves) else ""
    lines = [
        f"__device__ inline void {name}(const unsigned (&raw)[{moves.raw}], "
        f"unsigned (&packed)[{moves.packed}]{lane})",
        "{",
        *(INDENT + line for line in _body(moves)),
        "}",
    ]
    return "\n".join(lines)


def call(moves: Moves, name: str = "pack") -> str:
    """A call of the function on arrays `raw` and `packed`."""
    return f"{name}(raw, packed{', lane' if _uses_lane(moves) else ''});"


def _uses_lane(moves: Moves) -> bool:
    return any(isinstance(step, Permute) and Polynomial.of(step.selector).terms for step in moves.steps)


def _body(moves: Moves) -> Iterator[str]:
    """The declarations and the steps."""
    moved = {name for step in moves.steps if isinstance(step, Swap) for name in (step.first, step.second)}
    named = [f"r{i} = raw[{i}]" for i in range(moves.raw) if f"r{i}" in moved]
    named += [f"t{i}" for i in range(moves.temporaries)]
    if named:
        yield f"unsigned {', '.join(named)};"
    known: dict[bytes, str] = {}
    for step in moves.steps:
        if isinstance(step, Permute):
            selector, key = Polynomial.of(step.selector), step.selector.tobytes()
            if selector.terms and key not in known:
                known[key] = f"select{len(known)}"
                yield f"const unsigned {known[key]} = {of_lane(selector)};"
            chosen = known.get(key, f"0x{selector.constant:08x}u")
            yield (
                f"{_place(step.target, moved)} = __builtin_amdgcn_perm({_place(step.high, moved)}, "
                f"{_place(step.low, moved)}, {chosen});"
            )
        else:
            yield from _between(step, moved)


def _between(step: Step, moved: set[str]) -> Iterator[str]:
    if isinstance(step, Copy):
        yield f"{_place(step.target, moved)} = {_place(step.source, moved)};"
    elif isinstance(step, Swap):
        first, second = _place(step.first, moved), _place(step.second, moved)
        yield (
            f"{{ auto both = __builtin_amdgcn_permlane{step.apart}_swap({first}, {second}, false, false); "
            f"{first} = both[0]; {second} = both[1]; }}"
        )


def _place(name: str, moved: set[str]) -> str:
    """A register in HIP: those that swaps change have a variable."""
    kind, number = name[0], name[1:]
    if kind == "p":
        return f"packed[{number}]"
    return name if kind == "t" or name in moved else f"raw[{number}]"


def of_lane(value: Polynomial, lane: str = "lane") -> str:
    """A value that depends on the lane: `0x07060504u ^ (lane & 0x20u ? 0x04040404u : 0u)`."""
    parts = [f"0x{value.constant:08x}u"] if value.constant or not value.terms else []
    for mask, weight in value.terms.items():
        single = mask & (mask - 1) == 0
        test = f"{lane} & 0x{mask:x}u" if single else f"({lane} & 0x{mask:x}u) == 0x{mask:x}u"
        parts.append(f"({test} ? 0x{weight:08x}u : 0u)")
    return " ^ ".join(parts)


def in_c(text: str, value: Polynomial, number: str) -> str:
    """A formula of unsigned variables: `/`, `%` and `^` mean in C what they mean in the pattern language, a step back
    does not.

    Args:
        text: the closed form, in the pattern language; "" where there is none.
        value: the same table, by its number.
        number: that number, as an expression of the variables.
    """
    return text if text and "-" not in text else of_lane(value, number)
