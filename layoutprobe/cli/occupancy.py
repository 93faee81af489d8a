"""`layoutprobe occupancy`: how many waves fit on a SIMD, or how many registers so many waves leave."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from layoutprobe.cli.arguments import Parser, add_output
from layoutprobe.cli.command import Command
from layoutprobe.cli.terminal import chosen, emit
from layoutprobe.errors import UsageError
from layoutprobe.render.occupancy import Answer

EXAMPLES = """\
examples:
  layoutprobe occupancy --vgprs 96 --lds 32768 --workgroup 256
  layoutprobe occupancy --arch TARGET --vgprs 128 --agprs 128
  layoutprobe occupancy --arch TARGET --waves 4
"""


def _add_options(command: Parser) -> None:
    command.add_argument("--arch", metavar="TARGET", help="target (default: the one that is emulated)")
    command.add_argument("--vgprs", metavar="N", type=_count, help="VGPRs of a wave")
    command.add_argument("--agprs", metavar="N", type=_count, default=0, help="AccVGPRs of a wave")
    command.add_argument("--sgprs", metavar="N", type=_count, default=0, help="SGPRs of a wave, with VCC")
    command.add_argument("--lds", metavar="BYTES", type=_count, default=0, help="LDS of a workgroup")
    command.add_argument("--workgroup", metavar="N", type=_count, help="work-items of a workgroup")
    command.add_argument("--wave", type=int, choices=(32, 64), help="lanes of a wave")
    command.add_argument("--cu-mode", action="store_true", help="a workgroup stays on one CU, not a WGP")
    command.add_argument("--waves", metavar="N", type=_count, help="ask for the registers of so many waves")
    add_output(command, "occupancy")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Answer on standard output; 0, since nothing is judged.

    Raises:
        UsageError: the question has no answer: unknown target, more than it can give...
    """
    if (arguments.vgprs is None) == (arguments.waves is None):
        raise UsageError(
            "what is asked: how many waves fit, or how many registers they leave?",
            expected="either --vgprs or --waves",
            observed="neither" if arguments.vgprs is None else "both",
        )
    format = chosen(arguments, "occupancy")
    answer = _waves(arguments) if arguments.waves is None else _budget(arguments)
    emit(
        format, answer, arguments.output, outcome=lambda: "; ".join(": ".join(item) for item in answer.items)
    )
    return 0


def _waves(arguments: argparse.Namespace) -> Answer:
    from layoutprobe.arch import DEFAULT, occupancy, resources

    found = occupancy(
        arguments.arch or DEFAULT,
        arguments.vgprs,
        agprs=arguments.agprs,
        sgprs=arguments.sgprs,
        lds=arguments.lds,
        workgroup=arguments.workgroup,
        wave=arguments.wave,
        cu_mode=arguments.cu_mode,
    )
    accvgprs = ", AccVGPRs included" if resources(found.target).unified else ""
    limited = f", limited by {' and '.join(found.limited_by)}" if found.limited_by else ""
    items = [
        ("target", f"{found.target}, waves of {found.wave} lanes"),
        ("occupancy", f"{found.waves} of {found.max_waves} waves per SIMD{limited}"),
        ("registers", f"{found.registers} VGPRs are given to a wave{accvgprs}"),
        ("each alone", ", ".join(f"{name}: {waves}" for name, waves in found.limits.items())),
    ]
    if found.workgroups is not None:
        fits = f"{found.workgroups} on a {found.unit}" if found.workgroups else "none fits: the launch fails"
        items.append(("workgroups", fits))
    return Answer(asdict(found) | {"limited_by": found.limited_by}, items)


def _budget(arguments: argparse.Namespace) -> Answer:
    from layoutprobe.arch import DEFAULT, register_budget, resources

    found = register_budget(arguments.arch or DEFAULT, arguments.waves, wave=arguments.wave)
    accvgprs = ", AccVGPRs included" if resources(found.target).unified else ""
    items = [
        ("target", f"{found.target}, waves of {found.wave} lanes"),
        ("waves", f"{found.waves} per SIMD"),
        ("registers", f"at most {found.registers} VGPRs for each wave{accvgprs}"),
        ("file", f"{found.simd_bytes >> 10} KiB per SIMD, {found.cu_bytes >> 10} KiB per CU"),
    ]
    return Answer(asdict(found), items)


COMMAND = Command(
    "occupancy",
    "waves per SIMD for given registers and LDS, or the registers that so many waves leave",
    run,
    _add_options,
    EXAMPLES,
)
