"""Scalar ALU and scalar loads against AMD's pseudocode."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from oracle.families import SCALAR, SCALAR_LOADS
from oracle.forms import fill_scalars, generator, scalar_forms
from oracle.harness import Image, execute
from oracle.memory_forms import WAVES, random_machine, scalar_load
from oracle.memory_reference import Memories, check_scalar_load
from oracle.reference import check_scalar


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_alu(name: str) -> None:
    rng = generator(name)
    count = 0
    for inst in scalar_forms(name, rng, 5):
        image = fill_scalars(Image.random(rng, 24), inst, rng)
        outcome = execute(inst, image)
        check_scalar(inst, image, outcome, outcome.machine.code_address(inst.pc))
        count += 1
    assert count >= 5


@examples(150)
@given(st.sampled_from(SCALAR), st.integers(0, 2**32 - 1))
def test_random_registers_and_forms(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for inst in scalar_forms(name, rng, 1):
        image = fill_scalars(Image.random(rng, 8), inst, rng)
        outcome = execute(inst, image)
        check_scalar(inst, image, outcome, outcome.machine.code_address(inst.pc))


@pytest.mark.parametrize("name", SCALAR_LOADS)
def test_scalar_load(name: str) -> None:
    rng = generator(name)
    for _ in range(8):
        machine, image = random_machine(rng), Image.random(rng, WAVES)
        inst = scalar_load(name, image, machine, rng)
        check_scalar_load(inst, image, Memories.of(machine), execute(inst, image, machine=machine))
