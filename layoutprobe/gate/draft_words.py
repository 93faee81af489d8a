"""Words of a drafted manifest: names that it accepts, and strings as TOML writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from layoutprobe.codeobj.model import Kernel
from layoutprobe.codeobj.parameters import Signature


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
