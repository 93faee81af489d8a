"""`layoutprobe roundtrip`: what a tile looks like in LDS."""

from __future__ import annotations

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.probes import add_lds, add_matrix, add_probe_options, run

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


COMMAND = Command("roundtrip", "global -> LDS -> global: what LDS holds", run, _add_options, EXAMPLES)
