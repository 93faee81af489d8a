"""Coded matrices: formulas that name every element, and the carriers that hold their codes."""

from layoutprobe.patterns.library import load_pattern, pattern_names
from layoutprobe.patterns.pattern import HOLE, UNKNOWN, Identified, Pattern
from layoutprobe.patterns.signature import Collision, collision, joint_injective

__all__ = [
    "HOLE",
    "UNKNOWN",
    "Collision",
    "Identified",
    "Pattern",
    "collision",
    "joint_injective",
    "load_pattern",
    "pattern_names",
]
