"""What is kept in 16 bits on the way, where nothing says that this is meant, is judged as the output's type is."""

from __future__ import annotations

from pathlib import Path

import pytest
from checks.test_references import HEAD, Style, verdict

TURNED = Style(
    HEAD
    + """extern "C" __global__ void layer(const float* x, const float* s, float* y, int M, int N) {
  __shared__ float tile[16][17];
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (col < N && row < M) tile[threadIdx.y][threadIdx.x] = x[row * N + col];
  __syncthreads();
  const int r = blockIdx.y * 16 + threadIdx.x, c = blockIdx.x * 16 + threadIdx.y;
  if (r < M && c < N) y[c * M + r] = s[r] * tile[threadIdx.x][threadIdx.y];
}
""",
    """block = [16, 16]
grid = ["(N + 15) / 16", "(M + 15) / 16"]
sizes = [{ M = 19, N = 35 }, { M = 32, N = 16 }]
contract = { kind = "reference", function = "reference.py:layer" }
argument = [
  { name = "x", role = "in", dtype = "f32", shape = ["M", "N"] },
  { name = "s", role = "in", dtype = "f32", shape = ["M"] },
  { name = "y", role = "out", dtype = "f32", shape = ["N", "M"] },
  { name = "M", role = "scalar", dtype = "i32", value = "M" },
  { name = "N", role = "scalar", dtype = "i32", value = "N" },
]""",
    """
def layer(inputs, sizes):
    return {"y": (inputs["x"] * inputs["s"][:, None]).T}
""",
)
KEPT = ("float tile[", "_Float16 tile[")


def test_lds_of_another_type_is_wrong(tmp_path: Path) -> None:
    found = verdict(tmp_path, TURNED, (KEPT,))
    (finding,) = found.findings
    assert finding.rule.id == "numerics/rounded-sum"
    assert "values are rounded to f16 on the way" in finding.what
    assert finding.place.source is not None
    assert "tile[threadIdx.y]" in found_line(tmp_path, finding.place.source.line)
    assert "tolerance" in finding.hint


def found_line(folder: Path, line: int) -> str:
    return (folder / "kernel.hip").read_text().split("\n")[line - 1]


@pytest.mark.parametrize(
    "meant",
    [
        (
            KEPT,
            (
                "s[r] * tile[threadIdx.x][threadIdx.y]",
                "(float)((_Float16)s[r] * tile[threadIdx.x][threadIdx.y])",
            ),
        ),
        (KEPT, ("const float* s", "const _Float16* s")),
    ],
    ids=["computed with", "as an argument is"],
)
def test_it_is_meant_where_something_computes_in_it_or_an_argument_has_it(
    meant: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    keys = TURNED.keys
    if "const _Float16* s" in meant[-1]:
        keys = keys.replace('"s", role = "in", dtype = "f32"', '"s", role = "in", dtype = "f16"')
    found = verdict(tmp_path, Style(TURNED.source, keys, TURNED.python), meant)
    assert found.exit_code == 0, found.findings
    assert any("the tolerance is that of f16" in one for result in found.results for one in result.reserved)


def test_it_is_meant_where_the_manifest_says_so(tmp_path: Path) -> None:
    keys = TURNED.keys + "\ntolerance = { relative = 1e-3, absolute = 1e-3 }"
    assert verdict(tmp_path, Style(TURNED.source, keys, TURNED.python), (KEPT,)).exit_code == 0


def test_f32_throughout_holds_without_a_word(tmp_path: Path) -> None:
    found = verdict(tmp_path, TURNED)
    assert found.exit_code == 0
    assert not any(result.reserved for result in found.results)
