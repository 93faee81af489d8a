"""Sources are compiled from their own folder: the code objects stay out of the user's cache."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _aside(compiles_aside: None) -> None:
    """For all modules of this folder."""
