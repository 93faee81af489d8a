"""How many inputs hypothesis tries."""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1
"""Factor of the numbers that the tests name."""


def examples(count: int) -> settings:
    """`@settings(max_examples=count)`, and twenty times as many with HYPOTHESIS_PROFILE=thorough."""
    return settings(max_examples=count * THOROUGH)
