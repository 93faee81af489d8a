"""Inputs that are not usual, and that some day come: a kind of inputs each.

What a kernel has to bear is not said by its contract, so what happens to most of these is no finding; the headline
tells it. It is one where the manifest says that the kernel bears them (`bears`), where somebody hunts for trouble,
and of inputs that every kernel meets, as small numbers, where the manifest has no `bears`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from layoutprobe.manifest.binding import BoundBuffer

Values = NDArray[Any]
_SHIFT, _SPREAD = 256, 16
_LEVEL, _LEVEL_SPREAD = 120.0, 8
"""No exponential of such a number is one of f32, nor of its negative; bf16 holds whole numbers up to 256."""
_DEEP = 30_000
"""Such a score is less than many a number that stands for none at all."""
_MEAN = 8192
"""A mean beside which a spread of 1 is lost where squares are summed in f32, and not where it is taken away first."""
_NEAR_EPSILON = 2.0**-10
"""Squares of such numbers are smaller than the constants that are added to a variance."""
_HALVES, _CODES = 8, 7
_WIDE = 16
"""Bits of floats that hold such numbers without much rounding."""
_PEAKS = (32, 4.0), (256, 16.0), (1024, 64.0)
"""One element in how many is how large: f32 holds the exponential of each."""
_WAVE, _RUNS = 32, 8
"""Elements that are alike, and how often others come."""
_LARGE, _ANY = 1 << 22, (1 << 62) - 1
"""Whole numbers whose sums 32 bits hold, and any."""
_BELOW = -16
"""Its exponential is small, and much larger than none."""
_BELOW_F16 = 2.0**-24
"""Of such a number f16 keeps no digit, and f32 all of them."""
_BF16, _F16 = 8, 11
"""Bits of a number of these, with the one that is not written."""
_SMALL = 8
"""Bits of floats that kernels may take apart by themselves."""
_REACH = 1e6
"""Types whose largest number lies below this overflow in practice: f16, and floats of 8 bits."""
_NANS = np.array([0xFFF8 << 48, 0x7FFFFFFFE << 28, 0x7FF8 << 48, 0xFFFFFFFFE << 28], np.uint64).view(
    np.float64
)
"""NaN as x86 makes it, with the sign, with all bits that an f32 has (to round that by hand overflows), and as others
make it."""
_MANY = 16
"""Elements of which it matters whether they are all alike."""
_MOST = 4
"""Inputs that are tried, one at a time."""


class Unusual(Struct, frozen=True):
    """Some inputs.

    Attributes:
        says: after "y is far off where "; `{name}` is the input that they are about.
        fill: (normal numbers, their buffer, whether they are of that input) -> values.
        takes: whether an input can be so; None where they are about all inputs together.
        whole: they tell something of outputs that are integers alone.
        met: by all kernels, where it is a finding unless the manifest has `bears`; by some, where it is a
            reservation; in hunts, or where the manifest says that the kernel bears them.
        scaled: all inputs are scaled together, where there are several: outputs that become as small tell nothing.
        often: what overflows needs many elements: they are tried at the largest size, too.
        beside: an input is tried only where some other one has fewer bits: values of both may be kept in these.
        linear: of a product they say nothing that others do not, which are tried of it anyway.
        given: they are about inputs whose contents the manifest states, and not about others.
        foreign: elements of outputs that do not depend on what is unusual are judged; all, where the manifest says
            that the kernel bears such inputs, and where the output is of integers that the reference says.
        share: of the elements of an output at least so many are others, or nothing is said.
        exact: integers of outputs have to be the same, and not only nearly so.
        level: they are asked of an input whose level the reference does not heed: where something is added to all of
            it, the outputs stay as they are, as those of a softmax do.
        numbered: numbers that the input has follow its name, as in "edges x 5.75 -2.5"; `fill` is made of them.
    """

    says: str
    fill: Callable[[Values, BoundBuffer, bool], Values]
    takes: Callable[[BoundBuffer], bool] | None = None
    whole: bool = False
    met: Literal["by all", "by some", "in hunts"] = "by some"
    scaled: bool = False
    beside: bool = False
    often: bool = False
    linear: bool = False
    given: bool = False
    foreign: bool = False
    share: float = 0.0
    exact: bool = False
    level: bool = False
    numbered: bool = False

    @property
    def usage(self) -> str:
        """What follows the word of the kind in a manifest."""
        return "" if self.takes is None else " INPUT NUMBER" if self.numbered else " INPUT"


def _shifted(by: int, spread: int = _SPREAD) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Large numbers of one sign, where all others are positive: so are, or are not, the sums of their products."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        if not buffer.element.is_float:
            return usual
        return np.asarray(spread * usual + by if mine else np.abs(usual))

    return fill


def _at_level(level: float) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Small whole numbers, and as many more in all: types of 16 bits hold the sums exactly."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        return np.clip(np.rint(2 * usual), -_LEVEL_SPREAD, _LEVEL_SPREAD) + level if mine else usual

    return fill


def _blank(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Of a vector every third element: beside a row that is zero there are others that are not."""
    if not buffer.element.is_float or not usual.ndim:
        return usual
    if usual.ndim < 2:
        return np.where(np.arange(usual.size) % 3 == 0, 0.0, usual)
    zero = np.arange(usual.shape[-2]) % 2 == 0
    return np.where(zero[:, None], 0.0, usual)


def _halves(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Codes are small, so that sums of their products lie at ties, and are not saturated."""
    if _is_code(buffer):
        return np.fmod(usual, 3)
    return np.clip(np.rint(4 * usual), -_HALVES, _HALVES) / 2 if buffer.element.is_float else usual


def _subnormal(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    if not mine:
        return usual
    return np.clip(np.rint(3 * usual), -_CODES, _CODES) * buffer.element.smallest


def _times(narrow: float, wide: float) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Numbers of another magnitude: by one factor in types that reach no further than f16, by another in others."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        return usual * (narrow if buffer.element.largest < _REACH else wide) if mine else usual

    return fill


def _vast(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    return _HUGE(usual, buffer, _is_wide(buffer))


def _faint(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    return usual * _NEAR_EPSILON if _is_wide(buffer) else usual


def _sunk(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    return np.asarray(_SPREAD * usual - _SHIFT) if _is_float(buffer) else usual


def _saturated(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    kind = buffer.element
    if not mine:
        return usual
    least = -kind.largest if kind.is_float else np.iinfo(kind.storage).min
    return np.where(usual > 0, kind.largest if kind.is_float else np.iinfo(kind.storage).max, least)


def _holding(*numbers: float) -> Callable[[Values, BoundBuffer, bool], Values]:
    """One element of two rows of three, at another place in each: none of the rows between has one. Where there are
    several numbers, each row has the next one."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        if not mine or not buffer.element.is_float:
            return usual
        lines = np.array(usual, np.float64)
        rows = lines.reshape(-1, lines.shape[-1])
        at = np.flatnonzero(np.arange(len(rows)) % 3) if len(rows) > 1 else np.arange(1)
        rows[at, (at + lines.shape[-1] // 2) % lines.shape[-1]] = np.resize(numbers, len(at))
        return lines

    return fill


def _zeros(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Every other element is a zero, of one sign or the other by turns that no row has like the one before."""
    if not mine:
        return usual
    flat = np.array(usual, np.float64).reshape(-1)
    at = np.arange(len(flat))
    rest = np.where(_rows(usual).reshape(-1) % 2 == 0, flat, -np.abs(flat))  # of some a zero is the largest
    return np.where(at % 2 == 0, np.where(at // 2 % 3 == 1, 0.0, -0.0), rest).reshape(usual.shape)


def _ties(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Half-way between two numbers of bf16 in every other element, of f16 in the others."""
    if not mine:
        return usual
    parts, power = np.frexp(np.asarray(usual, np.float64))
    bits = np.where(np.arange(parts.size).reshape(parts.shape) % 2 == 0, _BF16, _F16)
    return np.ldexp(np.trunc(np.ldexp(parts, bits)) + np.copysign(0.5, parts), power - bits)


def _extreme(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Rows of the largest number and of the smallest one by turns, and all other codes as large as they can be: sums
    of their products go as far as they can."""
    if not _is_code(buffer):  # by which sums are scaled to what outputs hold
        return usual * _NEAR_EPSILON if buffer.element.is_float else usual
    held = np.iinfo(buffer.element.storage)
    less = (
        np.arange(usual.size).reshape(usual.shape) % 3 == 1
    )  # so that sums are odd, and need all their bits
    return np.where((_rows(usual) % 2 == 0) | (not mine), held.max - less, held.min)


def _rows(values: Values) -> NDArray[np.int64]:
    """The number of the row that each element is in."""
    return np.arange(values.size).reshape(values.shape) // values.shape[-1]


def _is_code(buffer: BoundBuffer) -> bool:
    return not buffer.element.is_float and buffer.element.bits <= _SMALL


def _void(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Every third row has nothing but -infinity, as where all is masked."""
    if not mine:
        return usual
    return np.where(_rows(usual) % 3 == 1, -np.inf, usual)


def _same(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    return np.full(usual.shape, usual.flat[0]) if mine and usual.size else usual


def _bounded(most: int) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Whole numbers of any size, up to one."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        if not mine:
            return usual
        held = np.iinfo(buffer.element.storage)
        low, high = max(held.min, -most), min(held.max, most)
        return np.random.default_rng(usual.size).integers(low, high, usual.shape, np.int64, endpoint=True)

    return fill


def _in_runs(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """As many elements as a wave has are alike, and then others."""
    if not mine or not usual.size:
        return usual
    at = np.arange(usual.size) // _WAVE % _RUNS
    return np.resize(usual.reshape(-1)[:_RUNS], _RUNS)[at].reshape(usual.shape)


def _shuffled(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """As the manifest gives them, they may repeat themselves where a kernel takes one for the other."""
    if not mine:
        return usual
    return np.random.default_rng(usual.size).permutation(usual.reshape(-1)).reshape(usual.shape)


def _as_flags(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """What is true need not be 1."""
    if not mine or not np.isin(usual, (0, 1)).all() or not usual.any():
        return usual
    return np.where(usual == 0, 0, np.resize((2, 64, 1), usual.shape))


def _none(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """What holds a 0 somewhere, as offsets do, has shown what comes of it."""
    return np.zeros_like(usual) if mine and usual.all() else usual


def _peaked(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    """Few elements are much larger than all about them, most of them negative, fewer the larger: of many a block one
    element is the largest by far, and what misses that one tells."""
    if not mine:
        return usual
    chance = np.random.default_rng(usual.size)
    drawn, found = chance.random(usual.shape), usual / 4
    for apart, size in _PEAKS:
        found = np.where(drawn < 1 / apart, size, found)
    return np.where((np.abs(found) > 2) & (chance.random(usual.shape) < 0.75), -np.abs(found), found)


def _slight(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
    return usual * _BELOW_F16 if mine else usual


def _is_wide(buffer: BoundBuffer) -> bool:
    return _is_float(buffer) and len(buffer.shape) > 1


def _is_float(buffer: BoundBuffer) -> bool:
    return buffer.element.is_float and buffer.element.bits >= _WIDE


def _is_precise(buffer: BoundBuffer) -> bool:
    return _is_wide(buffer) and buffer.element.bits > _WIDE


def _is_long(buffer: BoundBuffer) -> bool:
    return prod(buffer.shape) > _MANY


def _is_listed(buffer: BoundBuffer) -> bool:
    return _is_long(buffer) and _is_whole(buffer)


def _is_whole(buffer: BoundBuffer) -> bool:
    return not buffer.element.is_float and buffer.element.bits > _SMALL


def _is_widest(buffer: BoundBuffer, inputs: Sequence[BoundBuffer]) -> bool:
    return buffer.element.bits > min(other.element.bits for other in inputs)


def _saturates(buffer: BoundBuffer) -> bool:
    return _is_code(buffer) or (buffer.element.is_float and buffer.element.largest < _REACH)


def _is_small(buffer: BoundBuffer) -> bool:
    kind = buffer.element
    return kind.is_float and kind.bits <= _SMALL and kind.precision > 1


_HUGE = _times(2.0**10, 2.0**40)


def _at(numbers: Sequence[float]) -> Callable[[Values, BoundBuffer, bool], Values]:
    """Every third element is one of some numbers; of all other inputs some rows are zero, as in sums with them."""

    def fill(usual: Values, buffer: BoundBuffer, mine: bool) -> Values:
        if not mine or not numbers:
            return _blank(usual, buffer, mine)
        at = np.arange(usual.size).reshape(usual.shape)
        return np.where(at % 3 == 0, np.take(numbers, at // 3 % len(numbers)), usual)

    return fill


UNUSUAL = {
    "low": Unusual(f"{{name}} is about -{_SHIFT}", _shifted(-_SHIFT), _is_wide),
    "high": Unusual(f"{{name}} is about {_SHIFT}", _shifted(_SHIFT), _is_wide),
    "below": Unusual(f"{{name}} is about {_BELOW}", _shifted(_BELOW, 1), _is_wide, linear=True),
    "lowered": Unusual(
        f"all of {{name}} is about -{_LEVEL:.0f}",
        _at_level(-_LEVEL),
        _is_wide,
        met="by all",
        level=True,
        linear=True,
    ),
    "raised": Unusual(
        f"all of {{name}} is about {_LEVEL:.0f}",
        _at_level(_LEVEL),
        _is_wide,
        met="by all",
        level=True,
        linear=True,
    ),
    "deep": Unusual(f"{{name}} is about -{_DEEP}", _shifted(-_DEEP), _is_wide, linear=True),
    "offset": Unusual(
        f"{{name}} is about {_MEAN}, give or take 1", _shifted(_MEAN, 1), _is_precise, linear=True
    ),
    "small": Unusual(
        "{name} is about 0.001", _times(_NEAR_EPSILON, _NEAR_EPSILON), _is_wide, linear=True, met="by all"
    ),
    "faint": Unusual("all inputs are about 0.001", _faint, scaled=True, linear=True, met="by all"),
    "sunk": Unusual(f"all inputs are about -{_SHIFT}", _sunk, scaled=True, linear=True),
    "peaks": Unusual(
        "single elements of {name} are much larger than all others",
        _peaked,
        _is_wide,
        exact=True,
        linear=True,
        met="by all",
    ),
    "subnormal": Unusual("{name} is subnormal", _subnormal, _is_small),
    "blank": Unusual("rows of the inputs are zero", _blank),
    "halves": Unusual("values tie, or lie half-way between two integers", _halves, whole=True),
    "zeros": Unusual("{name} has zeros of both signs", _zeros, _is_wide, whole=True),
    "ties": Unusual(
        "{name} is half-way between two numbers of 16 bits", _ties, _is_precise, whole=True, share=0.05
    ),
    "extreme": Unusual(
        "all codes are as large as their types hold, those of {name} of both signs",
        _extreme,
        _is_code,
        often=True,
    ),
    "tiny": Unusual("{name} is tiny", _times(2.0**-14, 2.0**-40), _is_wide, linear=True),
    "slight": Unusual("{name} is about 1e-7", _slight, _is_precise, beside=True),
    "huge": Unusual("{name} is huge", _HUGE, _is_wide, linear=True),
    "vast": Unusual("all inputs are huge", _vast, scaled=True, linear=True),
    "infinite": Unusual(
        "{name} is -infinity here and there",
        _holding(-np.inf),
        _is_wide,
        foreign=True,
        exact=True,
        linear=True,
    ),
    "void": Unusual("rows of {name} are -infinity", _void, _is_wide, exact=True, linear=True),
    "nan": Unusual(
        "{name} is NaN here and there", _holding(*_NANS), _is_wide, foreign=True, exact=True, linear=True
    ),
    "same": Unusual("all of {name} is one number", _same, _is_long, whole=True, often=True),
    "runs": Unusual("{name} has runs of equal numbers", _in_runs, _is_long, whole=True),
    "large": Unusual("{name} is up to 2^22", _bounded(_LARGE), _is_whole, exact=True),
    "any": Unusual("{name} is any whole number", _bounded(_ANY), _is_whole, exact=True),
    "repeated": Unusual("all of {name} is one of its numbers", _same, _is_listed, given=True, exact=True),
    "shuffled": Unusual(
        "{name} has its numbers in another order", _shuffled, _is_code, given=True, exact=True, met="by all"
    ),
    "flags": Unusual(
        "{name} has other numbers than 1 for what is true", _as_flags, _is_code, given=True, exact=True
    ),
    "none": Unusual("all of {name} is 0", _none, _is_whole, given=True, exact=True),
    "edges": Unusual("{name} is exactly", _at(()), _is_float, exact=True, numbered=True),
    "saturated": Unusual("{name} is as large as its type holds", _saturated, _saturates, met="in hunts"),
}
"""Kinds of inputs by the word that they begin with; the name of an input follows."""


def kinds_for(
    inputs: Sequence[BoundBuffer], numbers: Sequence[float] = (), *, hunted: bool = False
) -> Iterator[str]:
    """The kinds that fit some inputs.

    Args:
        inputs: whose contents are free, or stated by the manifest.
        numbers: at which inputs may have an edge.
        hunted: those, too, that only a hunt tries.
    """
    at = "".join(f" {number:.10g}" for number in numbers)  # not rounded: an edge is exactly there
    free = [b for b in inputs if b.argument.values is None]
    given = [b for b in inputs if b.argument.values is not None]
    for word, unusual in UNUSUAL.items():
        if (unusual.met == "in hunts" and not hunted) or (unusual.numbered and not at):
            continue
        if unusual.scaled and sum(map(_is_wide, free)) <= 1:
            continue
        if unusual.takes is None:
            yield word
        else:
            fit = filter(unusual.takes, given if unusual.given else free)
            names = [
                f"{b.name}{at if unusual.numbered else ''}"
                for b in fit
                if not unusual.beside or _is_widest(b, free)
            ]
            yield from (f"{word} {name}" for name in names[:_MOST])


def unusual_of(kind: str) -> tuple[Unusual, str] | None:
    """What a kind of inputs is, and the input that it is about; None for another kind."""
    word, _, name = kind.partition(" ")
    found = UNUSUAL.get(word)
    if found is not None and found.numbered:
        return _with_numbers(found, name.split())
    return None if found is None or bool(name) != (found.takes is not None) else (found, name)


def _with_numbers(found: Unusual, words: Sequence[str]) -> tuple[Unusual, str] | None:
    """The kind with its numbers, and the input; None where these are none."""
    name, *texts = words or [""]
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    if not numbers or not np.isfinite(numbers).all():
        return None
    return replace(found, says=f"{found.says} {' or '.join(texts)}", fill=_at(numbers)), name
