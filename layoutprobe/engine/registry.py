"""The engines by name. Another one is one more file, and its lines here and in `choice.py`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from layoutprobe.codeobj.model import CodeObject, Kernel
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
    name = name or _named()
    if name not in ENGINES:
        raise UsageError(f"no engine named {name!r}", expected="one of: " + ", ".join(ENGINES))
    keep_freed_memory()
    return ENGINES[name]()


def busy_engine() -> Engine:
    """A fresh engine for a kernel of which it is known that it runs many times: C begins at once, unless an engine is
    named.

    Raises:
        UsageError: the environment names one that there is not.
    """
    name = _named()
    return make_engine(NATIVE if name == AUTO else name)


def in_c(engine: Engine, code: CodeObject, kernel: Kernel) -> bool:
    """Whether an engine that `busy_engine` gave executes a kernel with C: about twenty times as fast."""
    from layoutprobe.engine.native.engine import NativeEngine  # see `_native`

    return isinstance(engine, NativeEngine) and engine.knows(code, kernel)


def _named() -> str:
    return os.environ.get(ENVIRONMENT) or DEFAULT
