"""The tables of AMD's calculator, taken as claims: all confirmed, and none that is changed."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from layoutprobe import instructions
from layoutprobe.claims import judge
from layoutprobe.claims.cells import Cells, parse_csv


def test_every_table_of_the_calculator_is_confirmed(shared_file: Callable[[str], Path]) -> None:
    with lzma.open(shared_file("oracle/rdna3.csv.xz"), "rt") as stream:
        text = stream.read()
    sets = parse_csv(text, "rdna3.csv")
    assert len(sets) == 16  # six instructions, two wave sizes, and op_sel 4 of the two with 16-bit results
    for claims in sets:
        assert claims.instruction is not None
        solved = instructions.solve(claims.instruction, wave=claims.wave or 0, opsel=claims.opsel or 0)
        assert judge(claims, solved, exact=True).verdict == "confirmed", claims.name
        for number, table in enumerate(claims.statements):
            assert isinstance(table, Cells)
            row, *rest = table.cells[7]
            wrong = replace(table, cells=(*table.cells[:7], ((row + 1) % 16, *rest), *table.cells[8:]))
            changed = (*claims.statements[:number], wrong, *claims.statements[number + 1 :])
            assert judge(replace(claims, statements=changed), solved, exact=True).exit_code != 0
