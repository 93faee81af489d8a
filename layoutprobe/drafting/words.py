"""Words of a drafted manifest: names that it accepts, and strings as TOML writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from layoutprobe.codeobj.model import Kernel
from layoutprobe.codeobj.parameters import Signature
from layoutprobe.manifest.model import Sizes


class Named(Struct, frozen=True):
    """An argument by its number: what it is called, and its type."""

    name: str
    dtype: str


def name_of(kernel: Kernel, signature: Signature | None = None) -> str:
    """A name that a manifest accepts: as the source has it, without types, or as like the symbol as can be."""
    known = signature.name.partition("<")[0] if signature else ""
    text = re.sub(r"[^A-Za-z0-9_.+-]+", "_", known or kernel.name)[:60].lstrip(".+-")
    return text or "kernel"


def unique(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that were there before."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return result


def quoted(value: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, but for DEL."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def repr_of(value: float, dtype: str) -> str:
    """The shortest decimal number that the type reads as this one."""
    return (
        str(np.float32(value))
        if dtype == "f32"
        else str(np.float16(value))
        if dtype == "f16"
        else repr(value)
    )


def liked(name: str) -> tuple[str, ...]:
    """Sizes that an argument is likely to be, by its name."""
    strides = {"LDA": ("K", "M"), "LDB": ("N", "K"), "LDC": ("N", "M"), "LDD": ("N", "M")}
    return (name, name.upper(), *strides.get(name.upper(), ()))


def expression(text: str | None) -> str:
    """A number, or an expression as a string."""
    return text if text is not None and text.isdigit() else quoted(text or "")


def sized(size: Sizes) -> str:
    """Sizes as a table in one line."""
    return f"{{ {', '.join(f'{name} = {value}' for name, value in size.items())} }}"


def named_arguments(
    kernel: Kernel, signature: Signature | None, given_names: Mapping[int, str]
) -> list[Named]:
    """Arguments by the names that they are given, or by those in metadata or debug information, with types as the
    source declares them."""
    given = kernel.explicit_args
    declared = signature.parameters if signature and len(signature.parameters) == len(given) else None
    result: list[Named] = []
    for i, argument in enumerate(given):
        name = given_names.get(i) or argument.name or (declared[i].name if declared else "")
        others = {*(one.name for one in result), *(n for j, n in given_names.items() if j != i)}
        plain = name.isidentifier() and name.isascii() and name not in others
        dtype = declared[i].dtype if declared else ""
        if not dtype and argument.kind == "by_value" and argument.size in (4, 8):
            dtype = f"i{8 * argument.size}"
        result.append(Named(name if plain else f"argument{i}", dtype))
    return result
