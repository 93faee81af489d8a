"""Which engine runs programs: names, and where one is named. Imports nothing, for the command line."""

NUMPY, NATIVE = "numpy", "native"
NAMES = (NUMPY, NATIVE)
AUTO = "auto"
"""Native where that pays: see `automatic`."""
DEFAULT = AUTO
CHOICES = (AUTO, *NAMES)
ENVIRONMENT = "LAYOUTPROBE_ENGINE"
"""Names the engine where nobody else does; processes that a command starts inherit it."""
