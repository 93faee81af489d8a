"""Scalar ALU and scalar loads against AMD's pseudocode."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("name", SCALAR_LOADS)
def test_scalar_load(name: str) -> None:
    rng = generator(name)
    for _ in range(8):
        machine, image = random_machine(rng), Image.random(rng, WAVES)
        inst = scalar_load(name, image, machine, rng)
        check_scalar_load(inst, image, Memories.of(machine), execute(inst, image, machine=machine))
