"""`layoutprobe hipcc`: builds HIP programs without ROCm, to run on the emulator."""

from __future__ import annotations

import argparse

from layoutprobe import __version__
from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import printing

EXAMPLES = """\
examples:
  layoutprobe hipcc -O2 -o my_test my_test.hip && layoutprobe run -- ./my_test
  layoutprobe hipcc -c a.cpp -o a.o -Iinclude -DN=64 --offload-arch=TARGET
  layoutprobe hipcc --genco kernels.hip -o kernels.hsaco
"""


def _add_options(command: Parser) -> None:
    command.usage = "layoutprobe hipcc [OPTION ...] FILE ..."
    command.prefix_chars = "\0"  # its options are those of a compiler: not one is read here
    command.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        metavar="OPTION or FILE",
        help="as hipcc takes them; see docs/hip.md",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compile and link.

    Returns:
        0, or the exit status of the compiler or linker that refused.

    Raises:
        ProbeError: an option cannot be followed, or there is no compiler.
    """
    words: list[str] = arguments.words
    if "--help" in words or "-h" in words:
        with printing() as stdout:
            stdout.write(arguments.parser.format_help())
        return 0
    if "--version" in words:
        return _version()
    from layoutprobe.extras.hiphost.driver.build import build
    from layoutprobe.extras.hiphost.driver.words import read

    return build(read(words))


def _version() -> int:
    from layoutprobe.extras.hiphost.session import RUNTIME
    from layoutprobe.toolchain.find import find_compiler

    with printing() as stdout:
        print(f"HIP version: {RUNTIME // 10**7}.{RUNTIME // 10**5 % 100}.{RUNTIME % 10**5}", file=stdout)
        print(f"layoutprobe hipcc {__version__} (emulated; no ROCm)", file=stdout)
        print(find_compiler().version, file=stdout)
    return 0


COMMAND = Command(
    "hipcc", "build a HIP program, host and device, to run on the emulator", run, _add_options, EXAMPLES
)
