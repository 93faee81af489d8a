"""`layoutprobe occupancy`: how many waves fit on a SIMD, or how many registers so many waves leave."""

from __future__ import annotations

import argparse

from msgspec import to_builtins

from layoutprobe.cli.arguments import Parser, add_output, refuse_idle
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
    command.add_argument("--agprs", metavar="N", type=_count, help="AccVGPRs of a wave")
    command.add_argument("--sgprs", metavar="N", type=_count, help="SGPRs of a wave, with VCC")
    command.add_argument("--lds", metavar="BYTES", type=_count, help="LDS of a workgroup")
    command.add_argument("--workgroup", metavar="N", type=_count, help="work-items of a workgroup")
    command.add_argument("--wave", type=int, choices=(32, 64), help="lanes of a wave")
    command.add_argument("--cu-mode", action="store_true", help="a workgroup stays on one CU, not a WGP")
    command.add_argument("--waves", metavar="N", type=_count, help="ask for the registers of so many waves")
    add_output(command, "occupancy")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number")
    if len(text.lstrip("0")) > 9:
        raise argparse.ArgumentTypeError(f"{text[:40]} is more than any target has")
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
    _refuse_idle(arguments)
    format = chosen(arguments, "occupancy")
    answer = _waves(arguments) if arguments.waves is None else _budget(arguments)
    emit(
        format, answer, arguments.output, outcome=lambda: "; ".join(": ".join(item) for item in answer.items)
    )
    return 0


def _refuse_idle(arguments: argparse.Namespace) -> None:
    """Options that do not bear on what is asked, or not on this target.

    Raises:
        UsageError: one was given, or there is no such target.
    """
    from layoutprobe.arch import DEFAULT, resources

    target = arguments.arch or DEFAULT
    known = resources(target)
    takes = {
        "--agprs": arguments.agprs,
        "--sgprs": arguments.sgprs,
        "--lds": arguments.lds,
        "--workgroup": arguments.workgroup,
        "--cu-mode": arguments.cu_mode,
    }
    if arguments.waves is not None:
        why = "beside --waves, which asks for the registers that so many waves leave each other"
        refuse_idle(why, takes, "ask with --vgprs, how many waves fit")
    if known.unit == "CU":
        refuse_idle(f"on {target}, where every workgroup stays on one CU", {"--cu-mode": arguments.cu_mode})
    elif arguments.workgroup is None:
        why = "without --workgroup: it is about how many workgroups fit"
        refuse_idle(why, {"--cu-mode": arguments.cu_mode}, "give --workgroup")
    if not known.sgpr_steps:
        why = f"on {target}, where every wave has as many SGPRs as it can address"
        refuse_idle(why, {"--sgprs": arguments.sgprs})


def _waves(arguments: argparse.Namespace) -> Answer:
    from layoutprobe.arch import DEFAULT, occupancy, resources

    found = occupancy(
        arguments.arch or DEFAULT,
        arguments.vgprs,
        agprs=arguments.agprs or 0,
        sgprs=arguments.sgprs or 0,
        lds=arguments.lds or 0,
        workgroup=arguments.workgroup,
        wave=arguments.wave,
        cu_mode=arguments.cu_mode,
    )
    accvgprs = ", AccVGPRs included" if resources(found.target).unified else ""
    limited = f", limited by {found.limit}" if found.limited_by else ""
    fails = found.workgroups == 0
    reached = "none: not one workgroup fits, and the launch fails"
    if not fails:
        reached = f"{found.waves} of {found.max_waves} waves per SIMD{limited}"
    items = [
        ("target", f"{found.target}, waves of {found.wave} lanes"),
        ("occupancy", reached),
        ("registers", f"{found.registers} VGPRs are given to a wave{accvgprs}"),
        ("each alone", ", ".join(f"{name}: {waves}" for name, waves in found.limits.items())),
    ]
    if found.workgroups is not None:
        items.append(("workgroups", f"{found.workgroups or 'none'} on a {found.unit}"))
    waves = {"waves": 0} if fails else {}
    return Answer(to_builtins(found) | waves | {"limited_by": found.limited_by}, items)


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
    return Answer(to_builtins(found), items)


COMMAND = Command(
    "occupancy",
    "waves per SIMD for given registers and LDS, or the registers that so many waves leave",
    run,
    _add_options,
    EXAMPLES,
)
