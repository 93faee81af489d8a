"""Numbers: element types with their exact ranges and conversions, and the one digit code."""

from layoutprobe.numbers.digits import NO_NUMBER, DigitCode, digit_base, digits_of
from layoutprobe.numbers.element import ElementType
from layoutprobe.numbers.types import TYPES, element_type, rounded

__all__ = [
    "NO_NUMBER",
    "TYPES",
    "DigitCode",
    "ElementType",
    "digit_base",
    "digits_of",
    "element_type",
    "rounded",
]
