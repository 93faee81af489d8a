"""The command line: arguments in, report out, exit code. It wires, and decides nothing.

Whatever is heavy (numpy, the compiler, rich) is imported by the command that needs it, so that
`--help` and a mistyped option answer at once. What every parser does is in arguments.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from layoutprobe import __version__
from layoutprobe.cli import capture as capture_command
from layoutprobe.cli import check as check_command
from layoutprobe.cli import fidelity as fidelity_command
from layoutprobe.cli import init as init_command
from layoutprobe.cli import layout as layout_command
from layoutprobe.cli import occupancy as occupancy_command
from layoutprobe.cli import run as run_command
from layoutprobe.cli.arguments import Parser, ShowVersion, add_output, index, indices
from layoutprobe.cli.sources import add_source_options, backend_from, joined
from layoutprobe.cli.terminal import chosen, emit, printing, say
from layoutprobe.errors import ProbeError
from layoutprobe.render.formats import Format

if TYPE_CHECKING:
    from layoutprobe.report.layout import LayoutReport

DEBUG = "LAYOUTPROBE_DEBUG"
INTERRUPTED = 130
PROBE_OPTIONS = ("matrix", "lds", "pattern", "carrier", "dtype", "arch", "compiler")

EXAMPLES = {
    "": """\
examples:
  layoutprobe dump --matrix A --lds xor       which element sits in which lane, VGPR and half
  layoutprobe roundtrip --lds padded          what LDS itself holds, byte by byte
  layoutprobe epilogue                        where each accumulator register is stored
  layoutprobe check                           your own kernels, as layoutprobe.toml declares them
  layoutprobe doctor                          which compiler and devices are found here
  layoutprobe list patterns                   coded matrices to probe with
""",
    "dump": """\
examples:
  layoutprobe dump --matrix A --lds xor
  layoutprobe dump --matrix B --wave 2 --lane 0-3,16 --vgpr 0,1
  layoutprobe dump --matrix A --pattern row-coded --pattern col-coded --carrier f16
  layoutprobe dump --matrix A --format json | jq '.slots[] | select(.mismatch)'
  layoutprobe dump --matrix B --output fragment.svg
""",
    "roundtrip": """\
examples:
  layoutprobe roundtrip --lds xor
  layoutprobe roundtrip --matrix B --lds xor-vector --all
  layoutprobe roundtrip --lds padded --format json | jq .lds_map
""",
    "epilogue": """\
examples:
  layoutprobe epilogue
  layoutprobe epilogue --wave 1 --lane 0,16 --format csv
""",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: arguments without the program's name; sys.argv[1:] by default.

    Returns:
        The exit code: 0 holds, 1 a finding, 2 could not decide, 130 interrupted.
    """
    try:
        return _run(argv)
    except KeyboardInterrupt:
        say("layoutprobe: interrupted")
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    try:
        arguments = _parse(sys.argv[1:] if argv is None else argv)
        command: Callable[[argparse.Namespace], int] = arguments.run
        return command(arguments)
    except SystemExit as ended:  # argparse: --help, --version, wrong usage
        return ended.code if isinstance(ended.code, int) else 2
    except ProbeError as error:
        say(f"layoutprobe: {error}")
        return error.exit_code
    except Exception as error:
        if os.environ.get(DEBUG):
            import traceback

            traceback.print_exc()
        say(f"layoutprobe: {_unexpected(error)}")
        return 2


def _parse(words: Sequence[str]) -> argparse.Namespace:
    return parser().parse(joined(words))


def _unexpected(error: Exception) -> str:
    """What to say about an exception that is no ProbeError."""
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("layoutprobe"):
        return (
            f"the Python package {error.name!r} is missing in {sys.executable}\n"
            "  next:     install layoutprobe with its dependencies: pip install layoutprobe"
        )
    return (
        f"a bug in layoutprobe, not in your kernel: {type(error).__name__}: {error}\n"
        "  next:     please report it, with the command line, what `layoutprobe doctor`\n"
        f"            prints, and the traceback that {DEBUG}=1 shows.\n"
        "            Nothing was decided about the kernel."
    )


def parser() -> Parser:
    """The whole command line."""
    top = Parser(
        prog="layoutprobe",
        description="Finds which matrix element sits in which lane, VGPR and half of a real WMMA kernel.",
        epilog=EXAMPLES[""],
    )
    top.add_argument("--version", action=ShowVersion, version=f"layoutprobe {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, title="commands")
    dump = _command(commands, "dump", "operand registers of a real matrix instruction, slot by slot", _report)
    _add_matrix(dump, "A|B|C|D", "which operand")
    _add_lds(dump)
    _add_probe_options(dump, coded=True)
    roundtrip = _command(commands, "roundtrip", "global -> LDS -> global: what LDS holds", _report)
    _add_matrix(roundtrip, "A|B", "A lies in LDS as it is, B transposed")
    _add_lds(roundtrip)
    _add_probe_options(roundtrip, coded=True)
    roundtrip.add_argument("--all", action="store_true", help="every line of LDS, however many there are")
    epilogue = _command(commands, "epilogue", "where each accumulator register is stored", _report)
    _add_probe_options(epilogue, coded=False)  # it numbers its slots by itself
    check = _command(commands, "check", check_command.SUMMARY, check_command.run)
    check_command.add_options(check)
    init = _command(commands, "init", init_command.SUMMARY, init_command.run)
    init_command.add_options(init)
    explain = _command(commands, "explain", check_command.EXPLAIN_SUMMARY, check_command.explain)
    check_command.add_explain_options(explain)
    layout = _command(commands, "layout", layout_command.SUMMARY, layout_command.run)
    layout_command.add_options(layout)
    claim = _command(commands, "claim", layout_command.CLAIM_SUMMARY, layout_command.claim)
    layout_command.add_claim_options(claim)
    diff = _command(commands, "diff", layout_command.DIFF_SUMMARY, layout_command.diff)
    layout_command.add_diff_options(diff)
    capture = _command(commands, "capture", capture_command.SUMMARY, capture_command.run)
    capture_command.add_options(capture)
    capture.set_defaults(parse=_parse)
    fidelity = _command(commands, "fidelity", fidelity_command.SUMMARY, fidelity_command.run)
    fidelity_command.add_options(fidelity)
    waves = _command(commands, "occupancy", occupancy_command.SUMMARY, occupancy_command.run)
    occupancy_command.add_options(waves)
    program = _command(commands, "run", run_command.SUMMARY, run_command.run)
    run_command.add_options(program)
    _command(commands, "doctor", "what of compilers and devices is found here", _doctor)
    listing = _command(commands, "list", "names that options accept", _list)
    listing.add_argument("what", choices=["patterns", "schemes", "checks"], help="which names")
    return top


def _command(
    commands: argparse._SubParsersAction[Parser],
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
) -> Parser:
    command = commands.add_parser(name, help=summary, description=f"{summary}.", epilog=EXAMPLES.get(name))
    command.set_defaults(run=run, command=name, parser=command)
    return command


def _add_matrix(command: Parser, names: str, what: str) -> None:
    command.add_argument("--matrix", metavar=names, default="A", type=str.upper, help=f"{what} (default A)")


def _add_lds(command: Parser) -> None:
    option = command.add_argument("--lds", metavar="SCHEME")

    def name_schemes() -> None:
        from layoutprobe.layouts.swizzle import SCHEMES

        option.help = f"LDS scheme: {', '.join(SCHEMES)} (default {next(iter(SCHEMES))})"

    command.before_help(name_schemes)


def _add_probe_options(command: Parser, *, coded: bool) -> None:
    probe = command.add_argument_group("probe")
    if coded:
        _add_coding(probe)
    probe.add_argument("--dtype", help="element type of A and B (default f16)")
    probe.add_argument("--arch", metavar="TARGET", help="target to compile for")
    add_source_options(probe)
    probe.add_argument(
        "--compiler", metavar="PATH", help="clang to use; `layoutprobe doctor` shows those found"
    )
    shown = command.add_argument_group("output")
    add_output(shown, "layout")
    shown.add_argument(
        "--wave", metavar="N", type=index, help="this wave only (table: the first with a mismatch)"
    )
    shown.add_argument("--lane", metavar="LIST", type=indices, dest="lanes", help="these lanes only: 0-3,16")
    shown.add_argument("--vgpr", metavar="LIST", type=indices, dest="vgprs", help="these VGPRs only: 0,4-7")


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


def report_of(arguments: argparse.Namespace) -> LayoutReport:
    """Run dump, roundtrip or epilogue as the parsed arguments say.

    Raises:
        ProbeError: whatever stops the probe.
    """
    from layoutprobe.arch import DEFAULT
    from layoutprobe.experiments import commands

    # Options that were not given are not passed: the command's own defaults hold.
    given: dict[str, object] = {
        name: value for name in PROBE_OPTIONS if (value := getattr(arguments, name, None)) is not None
    }
    command: Callable[..., LayoutReport] = getattr(commands, arguments.command)
    if (backend := backend_from(arguments, arguments.arch or DEFAULT)) is not None:
        given["backend"] = backend
    return command(**given)


def _report(arguments: argparse.Namespace) -> int:
    from layoutprobe.render.progress import waiting

    format = chosen(arguments, "layout")
    with waiting(f"{arguments.command}: compiling and running the probe", sys.stderr):
        report = report_of(arguments)
    _emit(report, format, arguments)
    return report.exit_code


def _emit(report: LayoutReport, format: Format, arguments: argparse.Namespace) -> None:
    from layoutprobe.render.layout.view import select

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


def _doctor(_: argparse.Namespace) -> int:
    from layoutprobe.render.listing import Item, write_list
    from layoutprobe.toolchain.doctor import examine

    parts = examine()
    items = [
        Item(p.name, p.detail, p.found, "" if p.found else f"without it: {p.cost_if_missing}") for p in parts
    ]
    with printing() as stdout:
        write_list([Item("layoutprobe", __version__, True), *items], stdout)
    # Without a compiler no probe can run; everything else is a choice.
    return 0 if all(p.found for p in parts if p.name == "compiler") else 2


def _list(arguments: argparse.Namespace) -> int:
    from layoutprobe.render.listing import Item, write_list

    if arguments.what == "patterns":
        from layoutprobe.patterns import load_pattern, pattern_names

        found = [load_pattern(name) for name in pattern_names()]
        items = [Item(p.name, p.summary, note=p.expression) for p in found]
    elif arguments.what == "checks":
        from layoutprobe.checks.registry import CHECKS

        items = [Item(check.name, check.law) for check in CHECKS]
    else:
        from layoutprobe.layouts.swizzle import SCHEMES

        items = [Item(s.name, s.summary, note=f"16 columns: {s.formula((64, 16))}") for s in SCHEMES.values()]
    with printing() as stdout:
        write_list(items, stdout)
    return 0
