"""`layoutprobe dump`: operand registers of a matrix instruction."""

from __future__ import annotations

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.probes import add_instruction, add_lds, add_matrix, add_probe_options, add_view, run

EXAMPLES = """\
examples:
  layoutprobe dump --matrix A --lds xor
  layoutprobe dump --matrix B --wave 2 --lane 0-3,16 --vgpr 0,1
  layoutprobe dump --matrix A --pattern row-coded --pattern col-coded --carrier f16
  layoutprobe dump --matrix A --format json | jq '.slots[] | select(.mismatch)'
  layoutprobe dump --matrix B --output fragment.svg
  layoutprobe dump --matrix D --arch TARGET --instruction v_mfma_f32_16x16x16_f16 --acc
  layoutprobe dump --matrix B --arch TARGET --view raw --lds row-permute   # behind transposing loads
"""


def _add_options(command: Parser) -> None:
    add_matrix(command, "A|B|C|D", "which operand")
    add_lds(command)
    add_instruction(command)
    add_view(command)
    add_probe_options(command, coded=True)


COMMAND = Command(
    "dump", "operand registers of a real matrix instruction, slot by slot", run, _add_options, EXAMPLES
)
