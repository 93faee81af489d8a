"""Launches: what a probe's declaration turns into, and what it refuses before anything runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutprobe.arch import find
from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.errors import UsageError
from layoutprobe.probing.run import make_launch
from layoutprobe.probing.spec import load_spec

REGISTERS = ("a", "b", "c", "old")
NO_CODE = CodeObject(digest="", target="", kernels={}, segments=())


def launch(probe: str, inputs: dict[str, NDArray[Any]], lds: str = "none") -> Launch:
    spec = load_spec(probe).sized(find("gfx1151").probed_form("f16"))
    return make_launch(spec, NO_CODE, inputs, lds=lds)


def buffer(made: Launch, index: int) -> Buffer:
    argument = made.args[index]
    assert isinstance(argument, Buffer)
    return argument


def registers(waves: int) -> NDArray[np.uint32]:
    return np.arange(waves * 8 * 32, dtype=np.uint32).reshape(waves, 8, 32)


def test_interaction_runs_one_workgroup_per_wave() -> None:
    a = registers(5)
    made = launch("interaction", {"a": a, "b": a + 1, "c": a + 2, "old": a + 3})
    assert (made.kernel, made.grid, made.block) == ("v_wmma_f32_16x16x16_f16", (5, 1, 1), (32, 1, 1))
    assert np.array_equal(buffer(made, 1).data, a + 1)
    assert buffer(made, 4).undefined
    assert buffer(made, 4).data.shape == (5, 8, 32)


def test_gemm_covers_the_output_and_passes_its_sizes() -> None:
    made = launch("gemm/standard", {"A": np.ones((130, 48), np.float16), "B": np.ones((48, 300), np.float16)})
    assert made.grid == (3, 2, 1)  # x runs along N, y along M
    assert [int(x) for x in made.args[3:] if isinstance(x, np.int32)] == [130, 300, 48]
    assert buffer(made, 2).data.shape == (130, 300)
    assert buffer(made, 2).data.dtype == np.float32


@pytest.mark.parametrize(
    ("lds", "dwords"), [("none", 512), ("padded", 768), ("xor", 512), ("xor-vector", 512)]
)
def test_roundtrip_dumps_the_whole_lds_tile(lds: str, dwords: int) -> None:
    made = launch("roundtrip", {"in": np.zeros((64, 16), np.uint16)}, lds)
    assert buffer(made, 2).data.shape == (dwords,)


def test_inputs_are_passed_contiguous() -> None:
    column_major = np.asfortranarray(np.arange(1024, dtype=np.uint16).reshape(64, 16))
    data = buffer(launch("roundtrip", {"in": column_major}), 0).data
    assert data.flags.c_contiguous
    assert np.array_equal(data, column_major)


@pytest.mark.parametrize(
    ("probe", "inputs", "words"),
    [
        ("roundtrip", {}, "wrong inputs"),
        ("roundtrip", {"in": np.zeros((64, 16), np.uint16), "more": np.zeros(1)}, "wrong inputs"),
        ("roundtrip", {"in": np.zeros((16, 64), np.uint16)}, "does not fit"),
        ("roundtrip", {"in": np.zeros((64, 16), np.float16)}, "does not fit"),
        ("roundtrip", {"in": np.zeros(1024, np.uint16)}, "does not fit"),
        (
            "interaction",
            {name: registers(3 if name == "b" else 2) for name in ("a", "b", "c", "old")},
            "does not fit",
        ),
        ("interaction", {name: registers(0) for name in ("a", "b", "c", "old")}, "does not fit"),
        (
            "gemm/standard",
            {"A": np.ones((16, 32), np.float16), "B": np.ones((16, 32), np.float16)},
            "does not fit",
        ),
    ],
)
def test_refuses_inputs_that_do_not_fit(probe: str, inputs: dict[str, NDArray[Any]], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        launch(probe, inputs)
    assert caught.value.expected
    assert caught.value.observed


def test_refuses_unknown_and_pointless_schemes() -> None:
    with pytest.raises(UsageError, match="no LDS scheme named 'xro'") as caught:
        launch("roundtrip", {"in": np.zeros((64, 16), np.uint16)}, "xro")
    assert caught.value.expected == "one of none, padded, xor, xor-vector, row-permute"
    with pytest.raises(UsageError, match="keeps nothing in LDS"):
        launch("interaction", {name: registers(1) for name in REGISTERS}, "xor")
