"""What `dump`, `roundtrip` and `epilogue` share: options of a probe, and the report they print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from layoutprobe.cli.arguments import Parser, add_output, add_slots
from layoutprobe.cli.sources import add_compiler_option, add_source_options, backend_from
from layoutprobe.cli.terminal import chosen, emit

if TYPE_CHECKING:
    from layoutprobe.report.layout import LayoutReport

PROBE_OPTIONS = (
    "matrix",
    "lds",
    "pattern",
    "carrier",
    "dtype",
    "instruction",
    "acc",
    "view",
    "arch",
    "compiler",
)


def add_matrix(command: Parser, names: str, what: str) -> None:
    """--matrix."""
    command.add_argument("--matrix", metavar=names, default="A", type=str.upper, help=f"{what} (default A)")


def add_lds(command: Parser) -> None:
    """--lds."""
    option = command.add_argument("--lds", metavar="SCHEME")

    def name_schemes() -> None:
        from layoutprobe.layouts.swizzle import SCHEMES

        option.help = f"LDS scheme: {', '.join(SCHEMES)} (default {next(iter(SCHEMES))})"

    command.before_help(name_schemes)


def add_probe_options(command: Parser, *, coded: bool) -> None:
    """What is probed and by what, and what of the report is shown.

    Args:
        command: the parser.
        coded: whether patterns code the elements.
    """
    probe = command.add_argument_group("probe")
    if coded:
        _add_coding(probe)
    probe.add_argument("--dtype", help="element type of A and B (default f16)")
    probe.add_argument("--arch", metavar="TARGET", help="target to compile for")
    add_source_options(probe)
    add_compiler_option(probe)
    shown = command.add_argument_group("output")
    add_output(shown, "layout")
    add_slots(shown)


def add_instruction(command: Parser) -> None:
    """--instruction and --acc."""
    command.add_argument(
        "--instruction", metavar="NAME", help="the matrix instruction to execute (default: by --dtype)"
    )
    command.add_argument(
        "--acc", action="store_const", const=True, help="operands and accumulators in AccVGPRs (CDNA)"
    )


def add_view(command: Parser) -> None:
    """--view."""
    command.add_argument(
        "--view",
        metavar="raw|received|packed",
        help="A and B through transposing loads: what lanes fetch, what they receive, what the instruction reads",
    )


def _add_coding(probe: argparse._ArgumentGroup) -> None:
    probe.add_argument(
        "--pattern",
        metavar="PATTERN",
        action="append",
        help="name, .toml file or expression; give it again to tell more elements apart; "
        "write --pattern=-row where it starts with a dash",
    )
    probe.add_argument(
        "--carrier", help="how an element holds a code: raw16 (bits), f16 (a number)... (default: the best)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the probes of a command, and print its report.

    Raises:
        ProbeError: whatever stops a probe.
    """
    from layoutprobe.render.layout.view import select
    from layoutprobe.render.progress import waiting

    format = chosen(arguments, "layout")
    with waiting(f"{arguments.command}: compiling and running the probe", sys.stderr):
        report = report_of(arguments)
    view = select(
        report,
        wave=arguments.wave,
        lanes=arguments.lanes,
        vgprs=arguments.vgprs,
        whole_lds=getattr(arguments, "all", False),
    )

    def outcome() -> str:
        from layoutprobe.render.layout.words import verdict

        return str(verdict(report))

    emit(format, view, arguments.output, outcome=outcome)
    return report.exit_code


def report_of(arguments: argparse.Namespace) -> LayoutReport:
    """Run dump, roundtrip or epilogue as the parsed arguments say.

    Raises:
        ProbeError: whatever stops the probe.
    """
    import layoutprobe
    from layoutprobe.arch import DEFAULT

    # Options that were not given are not passed: the function's own defaults hold.
    given: dict[str, object] = {
        name: value for name in PROBE_OPTIONS if (value := getattr(arguments, name, None)) is not None
    }
    function: Callable[..., LayoutReport] = getattr(layoutprobe, arguments.command)
    if (backend := backend_from(arguments, arguments.arch or DEFAULT)) is not None:
        given["backend"] = backend
    return function(**given)
