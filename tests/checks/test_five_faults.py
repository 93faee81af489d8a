"""A 64 x 64 GEMM with two LDS buffers and a swizzle, as a stranger writes it (docs/gemm64.hip), with usual faults:
each is named, and at its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import layoutprobe
from layoutprobe.cli.main import main
from layoutprobe.report.finding import Finding

DOCS = Path(__file__).resolve().parents[2] / "docs"
SWIZZLED = "tile + chunk_at(r, c)"
STAGE_A, STAGE_B = "stage(a_lds[buf ^ 1], a, K, k0 + STEP)", "stage(b_lds[buf ^ 1], b, K, k0 + STEP)"


def found(folder: Path, *edits: tuple[str, str], kernel: str = "right", sizes: str = "") -> list[Finding]:
    """What `check` says of the kernel with these edits."""
    source, manifest = ((DOCS / name).read_text("utf-8") for name in ("gemm64.hip", "gemm64.toml"))
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    first = next(line for line in manifest.splitlines() if line.startswith("sizes = "))
    (folder / "gemm64.hip").write_text(source, "utf-8")
    (folder / "gemm64.toml").write_text(manifest.replace(first, sizes or first), "utf-8")
    report = layoutprobe.check(folder / "gemm64.toml", kernels=(kernel,))
    return list(report.verdicts[0].findings)


def found_in(kernel: str) -> list[Finding]:
    """What `check` says of a kernel of docs/gemm64.toml."""
    return list(layoutprobe.check(DOCS / "gemm64.toml", kernels=(kernel,)).verdicts[0].findings)


def line_of(finding: Finding) -> str:
    """The text of its line in docs/gemm64.hip."""
    source = finding.place.source
    assert source is not None
    return (DOCS / "gemm64.hip").read_text("utf-8").splitlines()[source.line - 1]


def test_stores_with_another_swizzle_than_the_loads_are_told_from_them(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, (SWIZZLED, "tile + r * STEP + ((c ^ r) & 3) * CHUNK"))
    assert finding.rule.id == "swizzle/lds-one-sided"
    assert "read as xor-vector: row*32 + ((col/8) ^ (row/2%4))*8 + col%8" in finding.what
    assert SWIZZLED in line_of(finding)


def test_a_forgotten_swizzle_is_at_the_side_that_forgot_it(tmp_path: Path) -> None:
    """Which of two schemes is written, and which is read, the image of LDS tells."""
    (first, *_) = found_in("swizzle")
    assert first.what.endswith("LDS is written with the scheme `xor-vector` and read with `none`")
    (first, *_) = found(tmp_path, (SWIZZLED, "tile + r * STEP + c * CHUNK"))
    assert first.what.endswith("LDS is written with the scheme `none` and read with `xor-vector`")


@pytest.mark.parametrize("kernel", ["right", "barrier", "columns"])
def test_the_list_names_what_check_finds(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A race too, which leaves all operands right."""
    code = main(["inspect", str(DOCS / "gemm64.toml"), "--kernel", kernel])
    told = " ".join(capsys.readouterr().out.split())
    here = (("M", 128), ("N", 64), ("K", 128))
    causes = [finding for finding in found_in(kernel) if finding.follows is None and here in finding.sizes]
    assert code == bool(causes)
    assert all(f"{cause.rule.id}, {cause.place.line}" in told for cause in causes)
    assert (f"{len(causes)} finding;" in told) == bool(causes)
    assert ("operands of 8 matrix instructions are" in told) == (kernel != "columns")


def test_every_instruction_of_a_k_step_shows_the_same_swizzle() -> None:
    """Of the second 16 k, as many elements come from the first 16 as from the second."""
    sites = layoutprobe.inspect(DOCS / "gemm64.toml", "swizzle").sites.sites
    assert {site.wrong for site in sites} == {(("A", "lds-one-sided"), ("B", "lds-one-sided"))}


def test_what_is_read_beyond_the_last_k_is_no_fault_of_the_stores() -> None:
    """Both operands hold the row and the column behind their own there, as if another tile were stored."""
    (first, *_) = found_in("tail")
    assert first.rule.id == "operand-provenance/beyond-edge"
    assert (first.expected, first.observed) == ("zero, as there is no A[0][80]", "A[1][0]")
    assert SWIZZLED in line_of(first)
    roots = {finding.rule.id for finding in found_in("tail") if finding.follows is None}
    assert roots == {"operand-provenance/beyond-edge"}


@pytest.mark.parametrize("matrix", "AB")
def test_a_step_that_is_fetched_twice_is_a_fault_of_its_fetch(tmp_path: Path, matrix: str) -> None:
    stage = {"A": STAGE_A, "B": STAGE_B}[matrix]
    (first, *_) = found(tmp_path, (stage, stage.replace("k0 + STEP", "k0")))
    assert first.rule.id == "operand-provenance/other-step"
    assert "it comes so from global memory: k 0-31 twice, k 96-127 never" in first.what
    assert first.place.matrix == matrix
    assert "global_load" in first.place.instruction
    (call,) = first.place.inlined_at
    assert call.source is not None
    assert stage in (DOCS / "gemm64.hip").read_text("utf-8").splitlines()[call.source.line - 1]


def test_a_buffer_that_is_not_meant_is_a_fault_of_the_load_from_it(tmp_path: Path) -> None:
    (first, *_) = found(tmp_path, ("fragment(b_lds[buf]", "fragment(b_lds[0]"))
    assert first.rule.id == "operand-provenance/other-buffer"
    assert "ds_load" in first.place.instruction


BY_COLUMNS = """__device__ inline void stage_columns(_Float16 *tile, const _Float16 *from, int ld, int k0) {
  for (int i = 0; i < 2; ++i) {
    const int id = threadIdx.x + i * 128, r = id / CHUNKS, c = id % CHUNKS;
    for (int e = 0; e < CHUNK; ++e) tile[chunk_at(r, c) + e] = from[(size_t)(k0 + c * CHUNK + e) * ld + r];
  }
}

extern "C" __global__"""


def test_a_tile_that_is_fetched_by_columns_is_a_fault_of_its_fetch(tmp_path: Path) -> None:
    """Half of what is needed comes by chance, to where it belongs to other lanes: LDS itself is used rightly."""
    (first, *_) = found(
        tmp_path,
        ("stage(a_lds[0], a, K, 0)", "stage_columns(a_lds[0], A + blockIdx.y * TILE, M, 0)"),
        (STAGE_A, "stage_columns(a_lds[buf ^ 1], A + blockIdx.y * TILE, M, k0 + STEP)"),
        ('extern "C" __global__', BY_COLUMNS),
    )
    assert first.rule.id == "operand-provenance/transposed"
    assert "global_load" in first.place.instruction


SECONDS = re.compile(r"[0-9.]+ s$", re.MULTILINE)
SHOWN = [
    block.split("\n", 1)
    for block in (DOCS / "faults.md").read_text("utf-8").split("```\n")[1::2]
    if block.startswith("$ layoutprobe ")
]


def test_every_fault_is_shown_by_one_command() -> None:
    kernels = [command.split()[command.split().index("--kernel") + 1] for command, _ in SHOWN]
    assert kernels == ["swizzle", "barrier", "columns", "epilogue", "tail"]


@pytest.mark.long
@pytest.mark.parametrize(("command", "printed"), SHOWN, ids=lambda text: text.split()[-1])
def test_the_page_shows_what_is_printed(
    command: str, printed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DOCS.parent)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(command.split()[2:]) == 1
    assert SECONDS.sub("", capsys.readouterr().out) == SECONDS.sub("", printed)
