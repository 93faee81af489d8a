"""Compiler flags that a manifest may name.

A manifest can come with a pull request from a stranger, and a clang flag can load a plugin, write a
file or name another assembler. So the list is of what is allowed, not of what is known to be bad.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HARMLESS = re.compile(
    r"-O([0-3sz]|fast)?"
    r"|-g[0-3]?|-gline-tables-only"
    r"|-std=[a-z0-9+]+"
    r"|-[DU][A-Za-z_]\w*(=[\w.+\-*/()<> ]*)?"
    r"|-W[a-z][a-z0-9+-]*(=\d+)?"  # no comma: -Wl,... and -Wa,... pass flags on
    r"|-m(no-)?(cumode|wavefrontsize64|tgsplit|unsafe-fp-atomics|amdgpu-ieee)|-mwavefrontsize64"
    r"|-mcode-object-version=[456]"
    r"|-f(no-)?(fast-math|unroll-loops|vectorize|slp-vectorize|math-errno|finite-math-only|strict-aliasing"
    r"|associative-math|reciprocal-math|signed-zeros|trapping-math|honor-nans|honor-infinities"
    r"|exceptions|inline|inline-functions|rounding-math|gpu-rdc|gpu-approx-transcendentals"
    r"|hip-fp32-correctly-rounded-divide-sqrt|discard-value-names|ident|builtin)"
    r"|-ffp-contract=(on|off|fast|fast-honor-pragmas)|-ffp-model=(precise|strict|fast|aggressive)"
    r"|-fgpu-flush-denormals-to-zero|-fno-gpu-flush-denormals-to-zero"
)
_BACKEND = re.compile(r"-(amdgpu|unroll|inline|disable-lsr|enable|misched|greedy)[a-z0-9-]*(=[\w.-]+)?")
"""What may follow -mllvm: code generation, nothing that names a file."""


def refused_flag(flags: Sequence[str]) -> str | None:
    """The first flag that a manifest may not name; None where all are allowed."""
    after_mllvm = False
    for flag in flags:
        if after_mllvm:
            if not _BACKEND.fullmatch(flag):
                return flag
            after_mllvm = False
        elif flag == "-mllvm":
            after_mllvm = True
        elif not _HARMLESS.fullmatch(flag):
            return flag
    return "-mllvm" if after_mllvm else None
