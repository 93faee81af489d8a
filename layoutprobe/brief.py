"""Prints records that hold arrays in a few lines: a debugger or a notebook shows what there is, not all of it.

    class Record(Struct, frozen=True, eq=False):
        codes: NDArray[np.uint16]

        __repr__ = brief

>>> Record(np.arange(4096, dtype=np.uint16))  # doctest: +SKIP
Record(codes=uint16[4096] 0 1 2 3 ...)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

WIDTH = 100
LINES = 8
_LONGEST = 60
_FEW = 4


def brief(record: Struct) -> str:
    """A record in at most LINES + 1 lines of about WIDTH columns; what does not fit is counted."""
    name = type(record).__name__
    parts = [_cut(f"{f}={short(getattr(record, f))}", WIDTH - 4) for f in record.__struct_fields__]
    lines = [f"{name}("]
    for done, part in enumerate(parts):
        end = ")" if done == len(parts) - 1 else ","
        joined = f"{lines[-1]}{'' if lines[-1].endswith('(') else ' '}{part}{end}"
        if len(joined) <= WIDTH or lines[-1].endswith("("):
            lines[-1] = joined
        elif len(lines) < LINES:
            lines.append(f"  {part}{end}")
        else:
            return "\n".join([*lines, f"  ... and {len(parts) - done} more)"])
    return "\n".join(lines) if parts else f"{name}()"


def short(value: object) -> str:
    """A value on one line: of an array its type, its shape and its first elements."""
    if hasattr(value, "dtype") and hasattr(value, "ravel"):
        return _array(value)
    if isinstance(value, Mapping):
        return _listed("{}", (f"{key!r}: {short(each)}" for key, each in _first(value.items())), len(value))
    if isinstance(value, list | tuple | set | frozenset):
        return _listed("[]" if isinstance(value, list) else "()", map(short, _first(value)), len(value))
    if isinstance(value, Struct):
        text = repr(value).partition("\n")[0]
    else:
        text = repr(value[: 2 * _LONGEST] if isinstance(value, str | bytes) else value)
    return _cut(" ".join(text.split()), _LONGEST)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _array(array: Any) -> str:
    head = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
    shown = " ".join(str(each) for each in array.ravel()[:_FEW].tolist())
    return f"{head} {shown}{' ...' if array.size > _FEW else ''}".rstrip()


def _first(values: Collection[Any]) -> list[Any]:
    return [value for value, _ in zip(values, range(_FEW), strict=False)]


def _listed(brackets: str, texts: Any, count: int) -> str:
    more = f", ... {count} in all" if count > _FEW else ""
    return f"{brackets[0]}{', '.join(texts)}{more}{brackets[1]}"
