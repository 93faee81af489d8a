"""Registers that M0 picks, against AMD's pseudocode lane by lane; indices differ between waves."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_LO, M0
from oracle.encode import encodings
from oracle.forms import EXEC_MASKS, generator
from oracle.harness import LANES, Image, execute
from oracle.pcode import evaluate

NAMES = ("v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32", "v_movrelsd_2_b32")
SOURCE, TARGET = 5, 9


def _image(salt: int) -> Image:
    image = Image.random(generator("indexed", salt), 3)
    image.s[M0] = np.array([0, 3, 7 << 16 | 2]) if salt % 2 else np.array([4, 4, 1])
    image.s[EXEC_LO] = EXEC_MASKS[salt % len(EXEC_MASKS)]
    return image


@pytest.mark.parametrize("salt", range(6))
@pytest.mark.parametrize("name", NAMES)
def test_against_the_pseudocode(name: str, salt: int) -> None:
    image = _image(salt)
    if name != "v_movrelsd_2_b32":
        image.s[M0] &= 0xFFFF
    inst = encodings(name)["VOP1"].inst(src0=256 + SOURCE, vdst=TARGET)
    seen = execute(inst, image).image
    expected = image.v.copy()
    for wave in range(image.waves):
        columns = {r: [int(x) for x in image.v[r, wave]] for r in range(len(image.v))}
        for lane in range(LANES):
            if not int(image.s[EXEC_LO, wave]) >> lane & 1:
                continue
            result = evaluate(
                name, vgpr=columns, src0=SOURCE, vdst=TARGET, s0=columns[SOURCE][lane],
                m0=int(image.s[M0, wave]), lane=lane,
            )  # fmt: skip
            if name == "v_movrels_b32":
                expected[TARGET, wave, lane] = result.d0
            for (at, register), value in result.vgpr_writes.items():
                expected[register, wave, at] = value
    assert not np.array_equal(expected, image.v)
    assert np.array_equal(seen.v, expected)
    assert np.array_equal(seen.s, image.s)


def test_a_scalar_value_can_be_stored() -> None:
    image = _image(0)
    image.s[4] = 1234
    inst = encodings("v_movreld_b32")["VOP1"].inst(src0=4, vdst=TARGET)
    seen = execute(inst, image).image
    active = [lane for lane in range(LANES) if int(image.s[EXEC_LO, 0]) >> lane & 1]
    assert set(seen.v[TARGET + 4, 0, active]) == {1234}


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_register_that_is_not_there_is_not_written(name: str) -> None:
    image = _image(0)
    image.s[M0] = 0x03FF03FF
    inst = encodings(name)["VOP1"].inst(src0=256 + SOURCE, vdst=TARGET)
    with pytest.raises(ExecutionError, match="which the wave does not have"):
        execute(inst, image)


@pytest.mark.parametrize(("name", "beyond"), [("v_movrels_b32", 0xFFFFFFF0), ("v_movrelsd_2_b32", 0x3FF)])
def test_what_is_read_from_no_register_is_undefined(name: str, beyond: int) -> None:
    """In the lanes that are on, of the wave whose index is beyond: compilers read elements that nothing uses."""
    image = _image(2)
    image.s[M0] = np.array([3, beyond, 1])
    found = execute(encodings(name)["VOP1"].inst(src0=256 + SOURCE, vdst=TARGET), image)
    active = np.array([[int(word) >> lane & 1 for lane in range(LANES)] for word in image.s[EXEC_LO]], bool)
    active[[0, 2]] = False
    assert active.any()
    assert np.array_equal(found.shadow.v[TARGET] != 0, active)
    assert not found.shadow.v[:TARGET].any()
