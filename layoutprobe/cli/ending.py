"""How a command ends: its exit code, and words for what went wrong. No traceback reaches a user."""

from __future__ import annotations

import errno
from collections.abc import Callable

from layoutprobe.cli.terminal import say
from layoutprobe.errors import DEBUG, ProbeError, UsageError, debugging
from layoutprobe.text import clipped, missing


def ended(work: Callable[[], int]) -> int:
    """Do something, and say on stderr why it could not be done.

    Returns:
        Its exit code; 2, or what the error says, where it raised.
    """
    try:
        return work()
    except SystemExit as left:  # argparse: --help, --version, wrong usage
        return left.code if isinstance(left.code, int) else 2
    except ProbeError as error:
        say(f"layoutprobe: {error}")
        return error.exit_code
    except Exception as error:
        if debugging():
            import traceback

            traceback.print_exc()
        say(f"layoutprobe: {_unexpected(error)}")
        return 2


def _unexpected(error: Exception) -> str:
    """What to say about an exception that is no ProbeError."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return str(UsageError("the name of a file is too long", where={"file": error.filename}))
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("layoutprobe"):
        return missing(error)
    return (
        f"a bug in layoutprobe, not in your kernel: {type(error).__name__}: {clipped(str(error))}\n"
        "  next:     please report it, with the command line, what `layoutprobe doctor`\n"
        f"            prints, and the traceback that {DEBUG}=1 shows.\n"
        "            Nothing was decided about the kernel."
    )
