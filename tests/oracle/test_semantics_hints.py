"""Instructions that change nothing, and modes of which only the emulated one is accepted."""

from __future__ import annotations

import numpy as np
import pytest

from layoutprobe import semantics
from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import Inst
from oracle.encode import encodings
from oracle.families import HINTS
from oracle.forms import generator
from oracle.harness import Image, execute


def _inst(name: str, **fields: int) -> Inst:
    encoding = next(iter(encodings(name).values()))
    return encoding.inst(**fields)


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_changes_no_register(name: str) -> None:
    rng = generator(name)
    encoding = next(iter(encodings(name).values()))
    for _ in range(4):
        fields = {"simm16": int(rng.integers(0, 1 << 16))} if "simm16" in encoding.fields else {}
        inst, image = encoding.inst(**fields), Image.random(rng, 2)
        assert semantics.bind(inst) is None, "a hint costs nothing at run time"
        after = execute(inst, image).image
        assert np.array_equal(after.v, image.v)
        assert np.array_equal(after.s, image.s)


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("s_denorm_mode", 0xF, (0, 0x3, 0xC, 0xE)),  # all denormals are kept
        ("s_round_mode", 0, (1, 3, 4, 0xF)),  # nearest even everywhere
        ("s_sendmsg", 3, (1, 2, 128)),  # DEALLOC_VGPRS
    ],
)
def test_only_the_emulated_mode_is_accepted(name: str, accepted: int, refused: tuple[int, ...]) -> None:
    assert semantics.bind(_inst(name, simm16=accepted)) is None
    for value in refused:
        with pytest.raises(semantics.UnsupportedFormError):
            semantics.bind(_inst(name, simm16=value))


def test_a_trap_ends_the_run_with_its_location() -> None:
    with pytest.raises(ExecutionError, match="traps"):
        execute(_inst("s_trap", simm16=2), Image.zeros(1))
