"""An oracle for the meaning of single instructions, made from AMD's own pseudocode.

The text is the one that tinygrad extracted from AMD's documents (`str_pcode`); lexer, parser and
arithmetic are of this package and share nothing with tinygrad's emulator or with layoutprobe.

    >>> evaluate("v_add_nc_u32", s0=7, s1=0xFFFFFFFF).d0
    6
"""

from .api import (
    MODE,
    Result,
    canonical,
    coverage,
    evaluate,
    evaluate_wave,
    pseudocode,
    supported,
)
from .corrections import CORRECTIONS, NO_EFFECT
from .errors import PcodeFault, PcodeSyntax, PcodeUnsupported
from .state import Mode

__all__ = [
    "CORRECTIONS",
    "MODE",
    "NO_EFFECT",
    "Mode",
    "PcodeFault",
    "PcodeSyntax",
    "PcodeUnsupported",
    "Result",
    "canonical",
    "coverage",
    "evaluate",
    "evaluate_wave",
    "pseudocode",
    "supported",
]
