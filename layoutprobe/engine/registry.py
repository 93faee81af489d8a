"""The engines by name. Another one is one more file, and its lines here and in `choice.py`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from layoutprobe.engine.allocator import keep_freed_memory
from layoutprobe.engine.automatic import AutomaticEngine
from layoutprobe.engine.base import Engine
from layoutprobe.engine.choice import AUTO, DEFAULT, ENVIRONMENT, NATIVE, NUMPY
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.errors import UsageError


def _native() -> Engine:
    from layoutprobe.engine.native.engine import NativeEngine  # 20 ms that numpy's engine does not need

    return NativeEngine()


ENGINES: Mapping[str, Callable[[], Engine]] = {
    AUTO: AutomaticEngine,
    NUMPY: NumpyEngine,
    NATIVE: _native,
}


def make_engine(name: str | None = None) -> Engine:
    """A fresh engine: the one named, else the one that the environment names, else the default.

    Raises:
        UsageError: no such engine.
    """
    name = name or os.environ.get(ENVIRONMENT) or DEFAULT
    if name not in ENGINES:
        raise UsageError(f"no engine named {name!r}", expected="one of: " + ", ".join(ENGINES))
    keep_freed_memory()
    return ENGINES[name]()
