"""A floating-point mode that is not executed is refused in words, and never silently ignored."""

from __future__ import annotations

import numpy as np
import pytest
from emulator.lab import LANES, assembled, fault, fresh, launch, outputs
from msgspec.structs import replace

from layoutprobe.codeobj.model import CodeObject

_ADD = """
  global_load_b32 v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_f32_e32 v2, v2, v2
  global_store_b32 v1, v2, s[6:7]
"""
_COPY = """
  global_load_b32 v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_mov_b32_e32 v2, v2
  global_store_b32 v1, v2, s[6:7]
"""
_KEEPS, _CLAMPS, _QUIETS = 0xF << 16, 1 << 21, 1 << 23
_USUAL = _KEEPS | _CLAMPS | _QUIETS


def with_mode(bits: int, body: str = _ADD) -> CodeObject:
    """A kernel whose descriptor has these bits of RSRC1, and no others of the mode."""
    code = assembled(body)
    kernel = code.kernels["k"]
    rsrc1 = kernel.descriptor.rsrc1 & ~(_USUAL | 0xF << 12) | bits
    changed = replace(kernel, descriptor=replace(kernel.descriptor, rsrc1=rsrc1))
    return replace(code, kernels={"k": changed})


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (_USUAL | 3 << 12, "f32 rounded towards zero"),
        (_USUAL | 1 << 14, "f16 and f64 rounded up"),
        (_USUAL & ~(1 << 18), "f16 and f64 subnormals flushed to zero"),
        (_USUAL & ~_CLAMPS, "DX10 clamp switched off"),
        (_USUAL & ~_QUIETS, "IEEE mode switched off"),
    ],
)
def test_another_mode_is_refused(bits: int, words: str) -> None:
    data = np.ones(LANES, np.float32)
    error = fault(lambda: launch(with_mode(bits), [data, fresh(LANES, np.float32)]), words)
    assert error.what == f"the kernel asks for {words}, which the emulator does not execute"
    assert error.kind == ""  # undecided, and no finding


def test_flushing_matters_where_a_subnormal_occurs() -> None:
    flushing = _USUAL & ~(3 << 16)
    data = np.linspace(-2, 2, LANES, dtype=np.float32)
    _, doubled = outputs(with_mode(flushing), [data, fresh(LANES, np.float32)])
    assert np.array_equal(doubled, data + data)
    data[5] = 1e-40
    error = fault(
        lambda: launch(with_mode(flushing), [data, fresh(LANES, np.float32)]), "f32 subnormals flushed"
    )
    assert (error.where["instruction"], error.where["lane"]) == ("v_add_f32", 5)
    for code in (with_mode(_USUAL), with_mode(flushing, _COPY)):
        assert np.array_equal(outputs(code, [data, fresh(LANES, np.float32)])[1] > 0, data > 0)
