"""Coded matrices: formulas that name every element, and the carriers that hold their codes."""

from layoutprobe.patterns.library import load_pattern, pattern_names
from layoutprobe.patterns.pattern import Pattern

__all__ = [
    "Pattern",
    "load_pattern",
    "pattern_names",
]
