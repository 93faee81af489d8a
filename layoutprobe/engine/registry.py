"""The engines by name. Another one is one more file, and its line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from layoutprobe.engine.base import Engine
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.errors import UsageError

ENGINES: Mapping[str, Callable[[], Engine]] = {
    "numpy": NumpyEngine,
}
DEFAULT_ENGINE = "numpy"


def make_engine(name: str = DEFAULT_ENGINE) -> Engine:
    """A fresh engine.

    Raises:
        UsageError: no such engine.
    """
    if name not in ENGINES:
        raise UsageError(f"no engine named {name!r}", expected="one of: " + ", ".join(ENGINES))
    return ENGINES[name]()
