"""`layoutprobe roundtrip`: what a tile looks like in LDS."""

from __future__ import annotations

import argparse

from layoutprobe.cli.arguments import Parser, refuse_idle
from layoutprobe.cli.command import Command
from layoutprobe.cli.probes import add_lds, add_matrix, add_probe_options
from layoutprobe.cli.probes import run as run_probes
from layoutprobe.cli.terminal import chosen

EXAMPLES = """\
examples:
  layoutprobe roundtrip --lds xor
  layoutprobe roundtrip --matrix B --lds xor-vector --all
  layoutprobe roundtrip --lds padded --format json | jq .lds_map
"""


def _add_options(command: Parser) -> None:
    add_matrix(command, "A|B", "A lies in LDS as it is, B transposed")
    add_lds(command)
    add_probe_options(command, coded=True)
    command.add_argument("--all", action="store_true", help="every line of LDS, however many there are")


def run(arguments: argparse.Namespace) -> int:
    """Run the probes, and print what LDS held and what came back.

    Raises:
        ProbeError: whatever stops a probe.
    """
    refuse_idle("on a roundtrip: no matrix instruction is executed", {"--arithmetic": arguments.arithmetic})
    if not chosen(arguments, "layout").for_people:
        refuse_idle("on this format, which has every line of LDS or none", {"--all": arguments.all})
    return run_probes(arguments)


COMMAND = Command("roundtrip", "global -> LDS -> global: what LDS holds", run, _add_options, EXAMPLES)
