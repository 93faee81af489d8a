"""Finds probes/ and patterns/: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def asset_dir(name: str) -> Path:
    """Directory of shipped data files.

    Args:
        name: "probes" or "patterns".

    Raises:
        FileNotFoundError: the installation is broken.
    """
    for candidate in (_PACKAGE / f"_{name}", _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"layoutprobe is installed without its {name}/ directory")
