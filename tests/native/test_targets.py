"""The C of the engine compiles for processors that it is not run on: no intrinsic or width of x86 is in it."""

from __future__ import annotations

import pytest
from emulator_gemm.kernels import KERNELS

from layoutprobe.engine.native import library
from layoutprobe.engine.native.bound import steps_of
from layoutprobe.engine.native.forms import Form
from layoutprobe.engine.native.matrix import matrix_template
from layoutprobe.engine.native.template import Layout
from layoutprobe.engine.numpy_engine import NumpyEngine
from layoutprobe.isa.inst import Inst, Operand

ELSEWHERE = {"aarch64": ("-target", "aarch64-linux-gnu"), "x86-64-v3": ("-march=x86-64-v3",)}
MACHINE = {"aarch64": 183, "x86-64-v3": 62}
"""e_machine of ELF."""


def _matrix() -> Form:
    regs = {"D": (32, 16), "A": (0, 2), "B": (4, 2)}
    d, a, b = (Operand("v", first, count, 32 * count) for first, count in regs.values())
    template = matrix_template(Inst(0, 8, "v_mfma_f32_32x32x8_f16", "MAI", (d,), (a, b, d)), Layout(64, 4096))
    assert template is not None
    assert template.form is not None
    return template.form


def gemm_forms() -> list[Form]:
    """What the standard GEMM needs."""
    code = KERNELS["standard"].build()
    steps = steps_of(NumpyEngine().program(code, code.kernel()), 32)
    for block in steps.program.blocks.values():
        for inst, executor in zip(block.insts, block.body, strict=True):
            steps.step(inst, executor)
    return list(steps.forms.values())


@pytest.mark.few(1)
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("processor", ELSEWHERE)
def test_compiles(processor: str, lanes: int) -> None:
    needed = gemm_forms() if lanes == 32 else [_matrix()]
    assert needed
    forms = "\n".join(form.function for form in needed)
    units = [(library._SOURCES / unit).read_text() for unit in library._UNITS]
    flags = (*library._FLAGS, "-O1", *ELSEWHERE[processor], f"-DLANES={lanes}")
    raw = library._compile((*units, library.FORMS_BEGIN + forms), flags, str(library._compiler()))
    assert int.from_bytes(raw[18:20], "little") == MACHINE[processor]
