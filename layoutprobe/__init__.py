"""layoutprobe: finds which matrix element sits in which lane, VGPR and half of a WMMA kernel.

>>> import layoutprobe
>>> report = layoutprobe.dump(matrix="A", lds="xor")  # doctest: +SKIP
>>> report.closed_form  # doctest: +SKIP
'A[16*wave + lane % 16][2*vgpr + half]'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layoutprobe.report.notebook import DRAWN_BY

if TYPE_CHECKING:
    from layoutprobe.errors import ProbeError
    from layoutprobe.experiments.dump import dump
    from layoutprobe.experiments.epilogue import epilogue
    from layoutprobe.experiments.roundtrip import roundtrip
    from layoutprobe.gate.gate import check
    from layoutprobe.inspector.inspect import Inspection, inspect
    from layoutprobe.inspector.launch import LaunchedKernel, launch
    from layoutprobe.layouts.layout import Layout
    from layoutprobe.patterns import load_pattern
    from layoutprobe.report.finding import Finding
    from layoutprobe.report.gate import GateReport
    from layoutprobe.report.layout import LayoutReport

__version__ = "0.1.0"

__all__ = [
    "Finding",
    "GateReport",
    "Inspection",
    "LaunchedKernel",
    "Layout",
    "LayoutReport",
    "ProbeError",
    "__version__",
    "check",
    "dump",
    "epilogue",
    "inspect",
    "launch",
    "load_pattern",
    "roundtrip",
]

_HOMES = {
    "Finding": "layoutprobe.report.finding",
    "GateReport": "layoutprobe.report.gate",
    "Inspection": "layoutprobe.inspector.inspect",
    "LaunchedKernel": "layoutprobe.inspector.launch",
    "Layout": "layoutprobe.layouts.layout",
    "LayoutReport": "layoutprobe.report.layout",
    "ProbeError": "layoutprobe.errors",
    "check": "layoutprobe.gate.gate",
    "dump": "layoutprobe.experiments.dump",
    "epilogue": "layoutprobe.experiments.epilogue",
    "inspect": "layoutprobe.inspector.inspect",
    "launch": "layoutprobe.inspector.launch",
    "load_pattern": "layoutprobe.patterns",
    "roundtrip": "layoutprobe.experiments.roundtrip",
}


DRAWN_BY |= {
    "Answer": "layoutprobe.render.answer:notebook",
    "GateReport": "layoutprobe.render.gate.html:notebook",
    "Held": "layoutprobe.render.notebook:held",
    "Launched": "layoutprobe.render.notebook:launched",
    "LayoutReport": "layoutprobe.render.layout.html:notebook",
    "Operands": "layoutprobe.render.notebook:operands",
    "Owners": "layoutprobe.render.notebook:owners",
    "Sites": "layoutprobe.render.sites:notebook",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on its first use, so that `import layoutprobe` itself costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'layoutprobe' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
