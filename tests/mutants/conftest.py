"""Mutants are compiled from temporary directories: their code objects stay out of the user's cache."""

from __future__ import annotations

import pytest

from layoutprobe.backends.emulator import EmulatorBackend


@pytest.fixture(scope="module", autouse=True)
def _aside(compiles_aside: None) -> None:
    """For all modules of this folder."""


@pytest.fixture(scope="session")
def backend() -> EmulatorBackend:
    """One for all: it keeps the kernels that it has bound."""
    return EmulatorBackend()
