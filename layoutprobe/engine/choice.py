"""Which engine runs programs: names, and where one is named. Imports nothing, for the command line."""

NUMPY, NATIVE = "numpy", "native"
NAMES = (NUMPY, NATIVE)
DEFAULT = NUMPY
ENVIRONMENT = "LAYOUTPROBE_ENGINE"
"""Names the engine where nobody else does; processes that a command starts inherit it."""
