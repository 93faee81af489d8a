"""The functions of HIP's interface, and which of them the emulated runtime has, pretends or lacks.

interface.txt has the names of AMD's library, by subject. What the runtime has is what shim/*.c define; the rest is
there, too, as functions that say so and return an error, so that a program starts that never calls them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "shim"
_NAMES = Path(__file__).resolve().parent / "interface.txt"
_DEFINED = re.compile(
    r'^(?:API|PRETENDS\("(?P<what>[^"]*)"\))\s+[\w\s*]*?\**(?P<name>(?:__)?hip\w+)\(', re.MULTILINE
)
_NO_STATUS = re.compile(
    r"__hipRegister|hipApiName|hipKernelNameRef|hipCreateChannelDesc|hipGetCmdName|hipGetStreamDeviceId"
    r"|hipRegisterTracerCallback"
)
"""Functions that return no hipError_t, or never came to return one: nobody would look at what they said."""


@cache
def subjects() -> dict[str, tuple[str, ...]]:
    """Subject -> the functions of HIP's interface that belong to it."""
    text = _NAMES.read_text("utf-8").replace("\n ", " ")
    rows = (line.partition(": ") for line in text.splitlines())
    return {subject: tuple(sorted(names.split())) for subject, _, names in rows}


@cache
def defined() -> dict[str, str]:
    """Function that the runtime has -> what it only pretends, "" where it is as it should be."""
    texts = (path.read_text("utf-8") for path in sorted(SOURCES.glob("*.c")))
    return {m["name"]: " ".join((m["what"] or "").split()) for text in texts for m in _DEFINED.finditer(text)}


def lacking() -> list[str]:
    """Functions that the runtime lacks, all of them."""
    return [name for names in subjects().values() for name in names if name not in defined()]


def refusing() -> str:
    """missing.c: every function that is lacking and returns a status."""
    names = [name for name in lacking() if not _NO_STATUS.match(name)]
    return '#include "shim.h"\n' + "".join(
        f'__attribute__((weak)) API hipError_t {name}(void) {{ return shim_lacks("{name}"); }}\n'
        for name in names
    )


def tables() -> str:
    """What docs/hip.md says of all functions."""
    has = defined()
    rows = ["| subject | has | pretends | lacks |", "|---|---|---|---|"]
    for subject, names in subjects().items():
        cells: tuple[list[str], list[str], list[str]] = ([], [], [])
        for name in names:
            cells[2 if name not in has else bool(has[name])].append(f"`{name}`")
        rows.append(f"| {subject} | " + " | ".join(", ".join(cell) or "none" for cell in cells) + " |")
    rows += ["", "| function | what it pretends |", "|---|---|"]
    rows += [f"| `{name}` | {what} |" for name, what in sorted(has.items()) if what]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(tables(), end="")
