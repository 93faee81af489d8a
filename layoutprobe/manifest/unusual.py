"""Inputs that are not usual, and that some day come: a kind of inputs each.

What a kernel has to bear is not said by its contract, so what happens to most of these is no finding; the headline
tells it. It is one where the manifest says that the kernel bears them (`bears`), where somebody hunts for trouble,
and of inputs that every kernel meets, as small numbers, where the manifest has no `bears`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.manifest import fills
from layoutprobe.manifest.binding import BoundBuffer

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
    fill: Callable[[fills.Values, BoundBuffer, bool], fills.Values]
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


UNUSUAL = {
    "low": Unusual(f"{{name}} is about -{fills.SHIFT}", fills.shifted(-fills.SHIFT), fills.is_wide),
    "high": Unusual(f"{{name}} is about {fills.SHIFT}", fills.shifted(fills.SHIFT), fills.is_wide),
    "below": Unusual(
        f"{{name}} is about {fills.BELOW}", fills.shifted(fills.BELOW, 1), fills.is_wide, linear=True
    ),
    "lowered": Unusual(
        f"all of {{name}} is about -{fills.LEVEL:.0f}",
        fills.at_level(-fills.LEVEL),
        fills.is_wide,
        met="by all",
        level=True,
        linear=True,
    ),
    "raised": Unusual(
        f"all of {{name}} is about {fills.LEVEL:.0f}",
        fills.at_level(fills.LEVEL),
        fills.is_wide,
        met="by all",
        level=True,
        linear=True,
    ),
    "deep": Unusual(
        f"{{name}} is about -{fills.DEEP}", fills.shifted(-fills.DEEP), fills.is_wide, linear=True
    ),
    "offset": Unusual(
        f"{{name}} is about {fills.MEAN}, give or take 1",
        fills.shifted(fills.MEAN, 1),
        fills.is_precise,
        linear=True,
    ),
    "small": Unusual(
        "{name} is about 0.001",
        fills.times(fills.NEAR_EPSILON, fills.NEAR_EPSILON),
        fills.is_wide,
        linear=True,
        met="by all",
    ),
    "faint": Unusual("all inputs are about 0.001", fills.faint, scaled=True, linear=True, met="by all"),
    "sunk": Unusual(f"all inputs are about -{fills.SHIFT}", fills.sunk, scaled=True, linear=True),
    "peaks": Unusual(
        "single elements of {name} are much larger than all others",
        fills.peaked,
        fills.is_wide,
        exact=True,
        linear=True,
        met="by all",
    ),
    "subnormal": Unusual("{name} is subnormal", fills.subnormal, fills.is_small),
    "blank": Unusual("rows of the inputs are zero", fills.blank),
    "halves": Unusual("values tie, or lie half-way between two integers", fills.halves, whole=True),
    "zeros": Unusual("{name} has zeros of both signs", fills.zeros, fills.is_wide, whole=True),
    "ties": Unusual(
        "{name} is half-way between two numbers of 16 bits",
        fills.ties,
        fills.is_precise,
        whole=True,
        share=0.05,
    ),
    "extreme": Unusual(
        "all codes are as large as their types hold, those of {name} of both signs",
        fills.extreme,
        fills.is_code,
        often=True,
    ),
    "tiny": Unusual("{name} is tiny", fills.times(2.0**-14, 2.0**-40), fills.is_wide, linear=True),
    "slight": Unusual("{name} is about 1e-7", fills.slight, fills.is_precise, beside=True),
    "huge": Unusual("{name} is huge", fills.HUGE, fills.is_wide, linear=True),
    "vast": Unusual("all inputs are huge", fills.vast, scaled=True, linear=True),
    "infinite": Unusual(
        "{name} is -infinity here and there",
        fills.holding(-np.inf),
        fills.is_wide,
        foreign=True,
        exact=True,
        linear=True,
    ),
    "void": Unusual("rows of {name} are -infinity", fills.void, fills.is_wide, exact=True, linear=True),
    "nan": Unusual(
        "{name} is NaN here and there",
        fills.holding(*fills.NANS),
        fills.is_wide,
        foreign=True,
        exact=True,
        linear=True,
    ),
    "same": Unusual("all of {name} is one number", fills.same, fills.is_long, whole=True, often=True),
    "runs": Unusual("{name} has runs of equal numbers", fills.in_runs, fills.is_long, whole=True),
    "large": Unusual("{name} is up to 2^22", fills.bounded(fills.LARGE), fills.is_whole, exact=True),
    "any": Unusual("{name} is any whole number", fills.bounded(fills.ANY), fills.is_whole, exact=True),
    "repeated": Unusual(
        "all of {name} is one of its numbers", fills.same, fills.is_listed, given=True, exact=True
    ),
    "shuffled": Unusual(
        "{name} has its numbers in another order",
        fills.shuffled,
        fills.is_code,
        given=True,
        exact=True,
        met="by all",
    ),
    "flags": Unusual(
        "{name} has other numbers than 1 for what is true",
        fills.as_flags,
        fills.is_code,
        given=True,
        exact=True,
    ),
    "none": Unusual("all of {name} is 0", fills.none, fills.is_whole, given=True, exact=True),
    "edges": Unusual("{name} is exactly", fills.at(()), fills.is_float, exact=True, numbered=True),
    "saturated": Unusual(
        "{name} is as large as its type holds", fills.saturated, fills.saturates, met="in hunts"
    ),
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
        if unusual.scaled and sum(map(fills.is_wide, free)) <= 1:
            continue
        if unusual.takes is None:
            yield word
        else:
            fit = filter(unusual.takes, given if unusual.given else free)
            names = [
                f"{b.name}{at if unusual.numbered else ''}"
                for b in fit
                if not unusual.beside or fills.is_widest(b, free)
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
    return replace(found, says=f"{found.says} {' or '.join(texts)}", fill=fills.at(numbers)), name
