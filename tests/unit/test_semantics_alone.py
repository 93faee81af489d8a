"""One instruction on given registers, without a program, a machine or a launch made for it."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe import semantics
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst, Operand
from layoutprobe.machine.cohort import Cohort
from layoutprobe.machine.faults import fault
from layoutprobe.semantics import UnsupportedFormError, alone

ADD = Inst(0x40, 4, "v_add_nc_u32", "VOP2", (Operand("v", 2),), (Operand("v", 0), Operand("v", 1)))


@pytest.mark.parametrize("lanes", [32, 64])
def test_an_instruction_alone(lanes: int) -> None:
    given = np.random.default_rng(lanes).integers(0, 1 << 32, (3, 5, lanes), np.uint32)
    before = given.copy()
    after = semantics.execute(ADD, given)
    assert np.array_equal(after[2], given[0] + given[1])
    assert np.array_equal(after[:2], given[:2])
    assert np.array_equal(given, before), "the caller's registers stay as they are"


def test_one_without_semantics_is_refused() -> None:
    with pytest.raises(UnsupportedFormError, match="no semantics"):
        semantics.execute(Inst(0, 4, "image_sample", "MIMG"), np.zeros((1, 1, 32), np.uint32))


def test_a_fault_needs_no_program_to_name_instruction_and_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler adds kernel and source line, where there are some."""

    def broken(c: Cohort) -> None:
        raise fault(c, ADD, "a bad value", np.arange(64).reshape(2, 32) == 37)

    monkeypatch.setattr(alone, "bind", lambda inst: broken)
    with pytest.raises(ExecutionError, match="a bad value") as caught:
        semantics.execute(ADD, np.zeros((3, 2, 32), np.uint32))
    where = caught.value.where
    assert (where["PC"], where["instruction"], where["lane"]) == ("0x40", "v_add_nc_u32", 5)
