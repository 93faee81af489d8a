"""The one error type that layoutprobe raises on purpose.

An error tells a kernel author what happened, where, what was expected, what was observed,
and what to do next. The CLI prints it; a library user catches it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import takewhile

from layoutprobe.place import Place
from layoutprobe.text import clipped, one_line

DEBUG = "LAYOUTPROBE_DEBUG"
"""Set in the environment, it shows the traceback of a bug of layoutprobe's own."""


def debugging() -> bool:
    """Whether a bug of layoutprobe's own shows its traceback."""
    return bool(os.environ.get(DEBUG))


class ProbeError(Exception):
    """Something that stops the work, said in words for a kernel author.

    Args:
        what: one sentence that states the problem.
        where: ordered name -> value pairs: kernel, source line, PC, wave, lane, VGPR, file, key...
        expected: what would have been right, if that is known.
        observed: what was found instead.
        hint: the next step to take.

    The exit code is 2 ("could not decide"): an error is never a finding.
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        where: Mapping[str, object] | None = None,
        expected: str | None = None,
        observed: str | None = None,
        hint: str | None = None,
    ) -> None:
        what = clipped(what)
        super().__init__(what)
        self.what = what
        self.where = dict(where or {})
        self.expected = expected
        self.observed = observed and clipped(observed)
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(
                "  where:    " + ", ".join(f"{k} {clipped(one_line(v))}" for k, v in self.where.items())
            )
        for label, text in (("expected", self.expected), ("observed", self.observed), ("next", self.hint)):
            if text:
                lines.append(f"  {label + ':':<9} {text}")
        return "\n".join(lines)


class UsageError(ProbeError):
    """What the user asked for is not possible: unknown name, wrong file, bad combination."""


class ToolchainError(ProbeError):
    """No usable compiler, or the compiler refused the source."""


class LateError(ToolchainError):
    """A tool did not end in the time that it was given."""


class CodeObjectError(ProbeError):
    """The bytes are not a code object that we can read."""


class ExecutionError(ProbeError):
    """The kernel did something that no correct kernel does, or that we cannot execute.

    Attributes:
        place: where it did so; `where` says the same in words.
        kind: which of its errors it is: "lds-bounds", "lds-alignment", "global-load" and
            "global-store" (outside every allocation), "read-only" (a store into code or
            arguments), "scratch-bounds", "alignment", "transpose-exec" and "transpose-register" (what a
            transposing load needs), "undefined-address", "undefined-control" (a branch, or the set of
            active lanes), "barrier", "trap"; or the limit that ended the launch: "budget", "time".
            "" where the emulator cannot execute something: that is no error of the kernel.
    """

    def __init__(
        self,
        what: str,
        *,
        place: Place | None = None,
        where: Mapping[str, object] | None = None,
        expected: str | None = None,
        observed: str | None = None,
        hint: str | None = None,
        kind: str = "",
    ) -> None:
        super().__init__(what, where=where, expected=expected, observed=observed, hint=hint)
        self.kind = kind
        self.place = Place()
        if place is not None:
            self.put(place)

    def put(self, place: Place) -> None:
        """Say where it happened, for whoever raised it and did not know."""
        self.place = place
        said = place.named()
        self.where = said | {name: value for name, value in self.where.items() if name not in said}


_LONGEST_NAME = 100
"""Characters of a name that are compared; what a user gives can be of any length."""

_LIKE = 0.6
"""Share of characters in common from which on names are like each other; difflib's own default."""
_MANY, _SHOWN = 32, 8
"""Names of a list that is shown as it is; of a longer one, how many are."""


def did_you_mean(name: object, known: Iterable[str]) -> str | None:
    """ "did you mean X?", where a known name is like the one given; a hint for an error."""
    near = _like(name, known)
    return f"did you mean {near[0]}?" if near else None


def one_of(name: object, known: Iterable[str]) -> str:
    """ "one of: A, B": what there is, for `expected`; of a long list what is most like the name given."""
    names = list(known)
    if len(names) <= _MANY:
        return "one of: " + ", ".join(names)
    near = (_like(name, names) or names)[:_SHOWN]
    return f"one of {len(names)}, such as: " + ", ".join(near)


def _like(name: object, known: Iterable[str]) -> list[str]:
    """Known names that are like one: those that begin as it does first, as the end is what is got wrong."""
    from difflib import SequenceMatcher  # only an error needs it

    if not isinstance(name, str):
        return []
    given = SequenceMatcher(b=name[:_LONGEST_NAME])
    ranked = []
    for other in known:
        given.set_seq1(other)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))
        if given.ratio() >= _LIKE:
            ranked.append((-common, -given.ratio(), other))
    return [other for _, _, other in sorted(ranked, key=lambda row: row[:2])]
