"""`layoutprobe epilogue`: where accumulators are stored."""

from __future__ import annotations

from layoutprobe.cli.arguments import Parser
from layoutprobe.cli.command import Command
from layoutprobe.cli.probes import add_instruction, add_probe_options, run

EXAMPLES = """\
examples:
  layoutprobe epilogue
  layoutprobe epilogue --arch TARGET --dtype f64
  layoutprobe epilogue --wave 1 --lane 0,16 --format csv
"""


def _add_options(command: Parser) -> None:
    add_instruction(command)
    add_probe_options(command, coded=False)  # it numbers its slots by itself


COMMAND = Command("epilogue", "where each accumulator register is stored", run, _add_options, EXAMPLES)
