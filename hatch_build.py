"""Wheels for a machine: LAYOUTPROBE_WHEEL=x86_64 (or aarch64) python -m build --wheel

They bring the native engine compiled, by the compiler of the package ziglang, so that one machine makes both. Without
the variable, a wheel is pure Python, and the engine is compiled where it first runs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ENVIRONMENT = "LAYOUTPROBE_WHEEL"
OLDEST_GLIBC = "2_17"
"""The oldest that both machines have a tag for; the libraries themselves need no libc at all."""


class Build(BuildHookInterface):
    """Adds the libraries."""

    def dependencies(self) -> list[str]:
        """What the package needs to write its own C, and the compiler."""
        return list(self.metadata.core.dependencies) if os.environ.get(ENVIRONMENT) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See BuildHookInterface."""
        machine = os.environ.get(ENVIRONMENT)
        if not machine or version == "editable":
            return
        sys.path.insert(0, self.root)
        from layoutprobe.engine.native.shipped import build

        self._folder = tempfile.TemporaryDirectory(prefix="layoutprobe-")
        for path in build(machine, Path(self._folder.name)):
            build_data["force_include"][str(path)] = f"layoutprobe/engine/native/prebuilt/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{OLDEST_GLIBC}_{machine}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """See BuildHookInterface."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
