"""`layoutprobe init --from-run`: the manifest that is drafted from launches is right as it stands."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hiphost.compiling import PROGRAMS
from hiphost.running import hipcc

from layoutprobe.cli.main import main

THREE = [(32, 32, 16), (17, 70, 33), (40, 24, 50)]
WHOLE = [(32, 64, 32), (64, 32, 64), (16, 96, 128)]
A, B, D = ({"shape": [*extents]} for extents in ("MK", "KN", "MN"))
FLOAT, HALF, BRAIN = {"dtype": "f32"}, {"dtype": "f16"}, {"dtype": "bf16"}
EXPECTED: dict[str, dict[str, Any]] = {
    "tiled": {
        "grid": ["(N + 15) / 16", "(M + 15) / 16", 1],
        "block": [16, 16, 1],
        "sizes": THREE,
        "contract": {"kind": "gemm"},
        "arguments": {
            "a": {"role": "in", "matrix": "A", **A, **FLOAT},
            "b": {"role": "in", "matrix": "B", **B, **FLOAT},
            "c": {"role": "out", "matrix": "D", **D, **FLOAT},
            **{name: {"role": "scalar", "dtype": "i32", "value": name.upper()} for name in "mnk"},
        },
    },
    "linear": {
        "grid": ["(M + 15) / 16", "(N + 15) / 16", 1],
        "block": [32, 1, 1],
        "sizes": WHOLE,
        "contract": {"kind": "gemm", "alpha": 2.0, "beta": 0.5},
        "arguments": {
            "x": {"role": "in", "matrix": "A", **A, **HALF},
            "w": {"role": "in", "matrix": "B", **B, **HALF, "order": "col"},
            "y": {"role": "inout", "matrix": "C", **D, **FLOAT},
            **{name: {"role": "scalar", "dtype": "f32", "value": name} for name in ("alpha", "beta")},
            "rows": {"role": "scalar", "dtype": "i32", "value": "M"},
            "columns": {"role": "scalar", "dtype": "i32", "value": "N"},
            "depth": {"role": "scalar", "dtype": "i32", "value": "K"},
        },
    },
    "padded": {
        "grid": ["((N + 15) / 16) * ((M + 15) / 16)", 1, 1],
        "block": [16, 16, 1],
        "sizes": THREE,
        "contract": {"kind": "gemm"},
        "arguments": {
            "A": {"role": "in", "matrix": "A", **A, **BRAIN, "ld": "K + 8"},
            "B": {"role": "in", "matrix": "B", **B, **BRAIN},
            "C": {"role": "out", "matrix": "D", **D, **FLOAT},
            **{name: {"role": "scalar", "dtype": "i32", "value": name} for name in "MNK"},
            "lda": {"role": "scalar", "dtype": "i32", "value": "K + 8"},
        },
    },
    "strided": {
        "grid": ["(N + 15) / 16", "(M + 15) / 16", "batch"],
        "block": [16, 16, 1],
        "sizes": THREE,
        "contract": {"kind": "gemm", "alpha": 0.5, "beta": 2.0},
        "arguments": {
            "A": {"role": "in", "matrix": "A", "shape": ["batch", "M", "K"], **FLOAT, "ld": "K + 8"},
            "B": {"role": "in", "matrix": "B", "shape": ["batch", "K", "N"], **FLOAT},
            "C": {"role": "inout", "matrix": "C", "shape": ["batch", "M", "N"], **FLOAT, "ld": "N + 4"},
            **{name: {"role": "scalar", "dtype": "f32", "value": name} for name in ("alpha", "beta")},
            **{name: {"role": "scalar", "dtype": "i32", "value": name.upper()} for name in "mnk"},
            **{
                name: {"role": "scalar", "dtype": "i32", "value": value}
                for name, value in (("lda", "K + 8"), ("ldb", "N"), ("ldc", "N + 4"))
            },
            "strideA": {"role": "scalar", "dtype": "i64", "value": "M * (K + 8)"},
            "strideB": {"role": "scalar", "dtype": "i64", "value": "N * K"},
            "strideC": {"role": "scalar", "dtype": "i64", "value": "M * (N + 4)"},
        },
    },
    "pointed": {
        "grid": ["(N + 15) / 16", "(M + 15) / 16", "batch"],
        "block": [16, 16, 1],
        "sizes": THREE,
        "contract": {"kind": "gemm"},
        "arguments": {
            "A": {"role": "in", "matrix": "A", "shape": ["batch", "M", "K"], **FLOAT, "pointers": True},
            "B": {"role": "in", "matrix": "B", "shape": ["batch", "K", "N"], **FLOAT, "pointers": True},
            "C": {"role": "out", "matrix": "D", "shape": ["batch", "M", "N"], **FLOAT, "pointers": True},
            **{name: {"role": "scalar", "dtype": "i32", "value": name.upper()} for name in "mnk"},
        },
    },
    "layer": {
        "grid": ["(N + 15) / 16", "(M + 15) / 16", 1],
        "block": [16, 16, 1],
        "sizes": [(32, 48, 16)],
        "contract": {"kind": "gemm", "bias": "bias", "activation": "relu"},
        "arguments": {
            "in": {"role": "in", "matrix": "A", **A, **FLOAT},
            "weights": {"role": "in", "matrix": "B", **B, **FLOAT},
            "bias": {"role": "in", "shape": ["N"], **FLOAT},
            "out": {"role": "out", "matrix": "D", **D, **FLOAT},
        },
    },
    "split": {
        "grid": ["(N + 31) / 32", "M", 2],
        "block": [32, 1, 1],
        "dynamic_lds": "K * 4",
        "sizes": WHOLE,
        "contract": {"kind": "gemm"},
        "arguments": {
            "a": {"role": "in", "matrix": "A", **A, **FLOAT},
            "b": {"role": "in", "matrix": "B", **B, **FLOAT},
            "c": {"role": "out", "matrix": "D", **D, **FLOAT, "initial": "zero"},
            **{name: {"role": "scalar", "dtype": "i32", "value": name.upper()} for name in "mnk"},
        },
    },
}


@pytest.fixture(scope="module")
def gemms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("gemms") / "gemms"
    assert hipcc("-O2", str(PROGRAMS / "gemms.hip"), "-o", str(program)) == 0
    return program


def _drafted(gemms: Path, folder: Path, name: str) -> Path:
    manifest = folder / f"{name}.toml"
    assert main(["init", "--from-run", "-o", str(manifest), "--", str(gemms), name]) == 0
    return manifest


@pytest.mark.few(3)
@pytest.mark.parametrize("name", EXPECTED)
def test_a_product_is_drafted_as_it_is_and_its_check_is_green(gemms: Path, tmp_path: Path, name: str) -> None:
    manifest = _drafted(gemms, tmp_path, name)
    text = manifest.read_text()
    assert "FILL IN" not in text.partition("[[kernel]]")[2]
    (kernel,) = tomllib.loads(text)["kernel"]
    expected = EXPECTED[name]
    assert kernel["name"] == name
    assert {key: kernel.get(key) for key in ("grid", "block", "contract", "dynamic_lds")} == {
        key: expected.get(key) for key in ("grid", "block", "contract", "dynamic_lds")
    }
    assert {(size["M"], size["N"], size["K"]) for size in kernel["sizes"]} == set(expected["sizes"])
    assert {one.pop("name"): one for one in kernel["argument"]} == expected["arguments"]
    assert main(["check", str(manifest)]) == 0


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('order = "col"', 'order = "row"'),
        ("beta = 0.5", "beta = 0.0"),
        ('"(M + 15) / 16"', '"(M + 31) / 32"'),
        ('value = "K"', 'value = "K - 16"'),
    ],
)
def test_a_draft_that_says_something_else_is_not_green(
    gemms: Path, tmp_path: Path, right: str, wrong: str
) -> None:
    manifest = _drafted(gemms, tmp_path, "linear")
    text = manifest.read_text()
    assert right in text
    manifest.write_text(text.replace(right, wrong))
    assert main(["check", str(manifest)]) == 1


def test_what_launches_nothing_or_fails_drafts_nothing(
    gemms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "layoutprobe.toml"
    assert main(["init", "--from-run", "-o", str(manifest), "--", str(gemms), "none of them"]) == 2
    assert "launched no kernel" in capsys.readouterr().err
    assert main(["init", "--from-run", "-o", str(manifest), "--", "false"]) == 2
    assert "did not end well (exit code 1" in capsys.readouterr().err
    assert main(["init", "--from-run", "--include", ".", "--", str(gemms)]) == 2
    assert "--include has no effect" in capsys.readouterr().err
    assert (
        main(["init", "--from-run", "--kernel", "other", "-o", str(manifest), "--", str(gemms), "tiled"]) == 2
    )
    assert "expected: one of: tiled" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_every_engine_shows_the_same(gemms: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for engine in ("numpy", "native"):
        monkeypatch.setenv("LAYOUTPROBE_ENGINE", engine)
        texts.append(_drafted(gemms, tmp_path, "split").read_text())
        (tmp_path / "split.toml").unlink()
    assert texts[0] == texts[1]
