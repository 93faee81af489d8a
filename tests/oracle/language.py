"""Whose instructions the oracle speaks about: AMD's tables and texts of one family, and the size of waves.

Everything of the oracle that depends on these asks `current`; a test module of another family enters `speaking`
for as long as it runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, wraps
from importlib import import_module
from typing import Any, TypeVar

from msgspec import Struct, field

from layoutprobe.isa.dialect import Dialect, known

T = TypeVar("T")
_TABLES = "tinygrad.runtime.autogen.amd"


class Language(Struct, frozen=True, eq=False, dict=True):
    """AMD's description of one family.

    Attributes:
        target: one of its targets.
        lanes: of a wave.
        repairs: pattern in AMD's texts -> what the oracle reads instead: spellings that its parser lacks.
        lender: table whose texts its own may call where it has none of that name.
        dpp: values of dpp_ctrl; those of RDNA without them.
        clears: 16-bit results of these clear the upper half of their register.
        callee: what a text may call by the name of an instruction; group "type" is the type of the result.
    """

    target: str = "gfx1151"
    lanes: int = 32
    repairs: Mapping[str, str] = field(default_factory=dict)
    lender: str = ""
    dpp: tuple[int, ...] = ()
    clears: frozenset[str] = frozenset()
    callee: str = r"v_(?:(?:min|max)3?_(?P<type>[fiu]\d+)|(?:m?sad_u8))"
    memory: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    @cached_property
    def dialect(self) -> Dialect:
        """How layoutprobe's decoder reads its code."""
        return Dialect(known(self.target), self.lanes)

    def table(self, part: str) -> Any:
        """A module of AMD's tables: "ins", "operands", "str_pcode"."""
        return import_module(f"{_TABLES}.{self.dialect.isa.encodings.table}.{part}")

    @cached_property
    def texts(self) -> dict[Any, str]:
        """AMD's text by operation."""
        lent = import_module(f"{_TABLES}.{self.lender}.str_pcode").PCODE if self.lender else {}
        own = self.table("str_pcode").PCODE
        return {op: self._repaired(op.name, text) for op, text in (lent | own).items()}

    def spelled(self, name: str) -> str:
        """AMD's name in upper case, as assemblers have it."""
        return self.dialect.isa.encodings.renamed.get(name.lower(), name).upper()

    def _repaired(self, name: str, text: str) -> str:
        for pattern, instead in self.repairs.items():
            text = re.sub(pattern, instead, text)
        # The texts of SOPK but for those of RDNA3 call the constant as if it were a source.
        return re.sub(r"S[01]\.([iu]16)", r"SIMM16.\1", text) if re.match(r"S_\w+K_", name) else text


_spoken = [Language()]


def current() -> Language:
    """The language that is spoken."""
    return _spoken[-1]


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Speak another language."""
    _spoken.append(language)
    try:
        yield
    finally:
        _spoken.pop()


def remembered(function: Callable[..., T]) -> Callable[..., T]:
    """`functools.cache`, for each language by itself."""

    @wraps(function)
    def look_up(*args: Any) -> T:
        memory, key = current().memory, (function, *args)
        if key not in memory:
            memory[key] = function(*args)
        return memory[key]

    return look_up
