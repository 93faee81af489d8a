"""Swizzle: tiles lie in LDS injectively, and loads look where stores put it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from checks.gemm_lab import INTERIOR, Edit, line, only, plain, tiled
from checks.watched import gemm_launch, standard
from msgspec.structs import replace

from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.checks import operand_provenance, swizzle
from layoutprobe.codeobj.elf import load
from layoutprobe.isa.kind import Kind
from layoutprobe.isa.store import load_instructions
from layoutprobe.observe.load_path import FollowBack, LoadPathObserver, LoadPaths, Target
from layoutprobe.patterns.expression import evaluate, parse
from layoutprobe.report.gate import CheckResult

NAME = swizzle.NAME
STORE_A, LOAD_A = "a_row * STRIDE + a_col]", "(wave_m + lane % 16) * STRIDE + k]"
STORE_B, LOAD_B = "b_col * STRIDE + b_row]", "(wave_n + lane % 16) * STRIDE + k]"


def result_of(folder: Path, *edits: Edit) -> CheckResult:
    return tiled(folder, *edits, sizes=(INTERIOR,), checks=(swizzle.CHECK,))[NAME]


def on_a(store: str, load: str) -> tuple[Edit, Edit]:
    return (STORE_A, f"{store}]"), (LOAD_A, f"{load}]")


SCHEMES = {
    "padding": ("a_row * 20 + a_col", "(wave_m + lane % 16) * 20 + k"),
    "no padding": ("a_row * 16 + a_col", "(wave_m + lane % 16) * 16 + k"),
    "xor of 16 bytes": (
        "a_row * 16 + (a_col ^ a_row % 2 * 8)",
        "(wave_m + lane % 16) * 16 + (k ^ lane % 2 * 8)",
    ),
    "xor of pairs": (
        "a_row * 16 + (a_col ^ a_row % 8 * 2)",
        "(wave_m + lane % 16) * 16 + (k ^ lane % 8 * 2)",
    ),
    "rotated rows": (
        "a_row * 16 + (a_col + a_row) % 16",
        "(wave_m + lane % 16) * 16 + (k + lane) % 16",
    ),
    "transposed": ("a_col * 34 + a_row", "k * 34 + wave_m + lane % 16"),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_on_both_sides_holds(tmp_path: Path, name: str) -> None:
    result = result_of(tmp_path, *on_a(*SCHEMES[name]))
    assert result.status == "holds", result
    assert result.reason == "stores and loads agree on where each element lies"


def test_maps_of_the_tiles_are_metrics(tmp_path: Path) -> None:
    metrics = result_of(tmp_path, *on_a(*SCHEMES["xor of 16 bytes"])).metrics
    assert (
        "32 x 16 elements in 512 cells from byte 0; [row][col] is xor: row*16 + ((col/8) ^ (row%2))*8 + col%8"
    ) in str(metrics["A in LDS"])
    assert (
        "16 x 32 elements in 760 cells from byte 3072, 248 of them padding; "
        "[col][row], transposed, is padded: col*24 + row"
    ) in str(metrics["B in LDS"])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("padding", "store"),
        ("padding", "load"),
        ("xor of 16 bytes", "store"),
        ("xor of pairs", "load"),
        ("rotated rows", "store"),
        ("transposed", "load"),
    ],
)
def test_a_scheme_on_one_side_is_red(tmp_path: Path, name: str, side: str) -> None:
    """The other side lays rows out without padding, and B is padded on both: who does as B does is right."""
    plain_store, plain_load = SCHEMES["no padding"]
    store, load = SCHEMES[name]
    result = result_of(
        tmp_path, *on_a(store if side == "store" else plain_store, load if side == "load" else plain_load)
    )
    finding = only(result)
    assert finding.what.startswith("loads and stores of A do not agree on where elements lie in LDS: ")
    assert finding.place.matrix == "A"
    at = {"store": line(tmp_path, "= a_in ?"), "load": line(tmp_path, " a[k] =")}
    assert finding.place.line in at.values()
    if name == "rotated rows":
        assert finding.place.line == at[side], "the side that no formula describes"
    byte = int(finding.observed.split("read from byte ")[1])
    load_step, used = finding.related[-2], finding.related[-1]
    assert load_step.place.lds_byte == byte
    assert used.place.line == line(tmp_path, "acc = __builtin")
    # Where the element is, by the store's formula; what was read, by the load's.
    row, col = (int(x) for x in finding.expected.split(",")[0][2:-1].split("]["))
    lies = 2 * index(store if side == "store" else plain_store, a_row=row, a_col=col % 16)
    assert finding.expected.endswith(f"which lies at byte {lies}")
    lane = used.place.lane
    assert isinstance(lane, int)
    assert byte == 2 * index((load if side == "load" else plain_load), wave_m=0, lane=lane, k=col % 16)
    assert f"at {line(tmp_path, ' a[k] =')} (LDS byte" in finding.related_text
    assert f"at {line(tmp_path, '= a_in ?')}" in finding.related_text


def index(formula: str, **names: int) -> int:
    """An index of this file: C and the pattern language agree on these operators."""
    return int(evaluate(parse(formula, names.keys()), {k: np.array(v) for k, v in names.items()}))


def test_an_address_function_that_is_not_injective(tmp_path: Path) -> None:
    finding = only(result_of(tmp_path, *on_a("a_row * 12 + a_col", "(wave_m + lane % 16) * 12 + k")))
    assert finding.what.endswith("the address function is not injective")
    assert finding.place.line == line(tmp_path, "= a_in ?")
    # Rows overlap by four elements: (0, 12) and (1, 0) first.
    assert finding.place.lds_byte == 24
    assert finding.observed == "wave 0, lane 12 and wave 0, lane 16 store to it in one barrier interval"
    assert finding.related[0].place.line == line(tmp_path, "= a_in ?")


def test_a_wrong_fragment_is_no_fault_of_addresses(tmp_path: Path) -> None:
    """A load that looks where the element lies, but one K step too early or late, or transposed."""
    for edit in (
        ("a[k] = a_lds[buffer]", "a[k] = a_lds[buffer ^ 1]"),
        (LOAD_A, "(wave_m + k) * STRIDE + lane % 16]"),
    ):
        results = tiled(tmp_path, edit, sizes=(INTERIOR,), checks=(operand_provenance.CHECK, swizzle.CHECK))
        assert results[NAME].status == "holds", results[NAME]
        assert "operands are wrong: see operand-provenance" in results[NAME].reason
        assert results["operand-provenance"].status == "finding"


def test_kernels_without_tiles_are_skipped_or_undecided(tmp_path: Path) -> None:
    result = plain(tmp_path, "gemm_unusual", "SCALAR", checks=(swizzle.CHECK,))[NAME]
    assert (result.status, result.reason) == ("skipped", "the kernel keeps nothing in LDS")
    store, load = "a_lds[buffer][a_row * STRIDE + a_col] = a_in ? A[", "a[k] = a_lds[buffer]"
    edits = (store, store.replace("? A", "? _Float16(0.3) * A")), (load, load)
    result = result_of(tmp_path, *edits)
    assert result.status == "undecided"
    assert result.reason.startswith("operands are computed on their way through LDS. A function")


def test_all_wrong_slots_are_followed_in_one_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two operands, and two checks that say where each came from: one run answers for all."""
    launches = []
    start = LoadPathObserver.__init__

    def counted(self: LoadPathObserver, targets: Iterable[Target]) -> None:
        launches.append(tuple(targets))
        start(self, launches[-1])

    monkeypatch.setattr(LoadPathObserver, "__init__", counted)
    results = tiled(
        tmp_path,
        *on_a(SCHEMES["padding"][0], SCHEMES["no padding"][1]),
        (STORE_B, "b_col * 20 + b_row]"),
        (LOAD_B, "(wave_n + lane % 16) * 16 + k]"),
        sizes=(INTERIOR,),
        checks=(swizzle.CHECK, operand_provenance.CHECK),
    )
    findings = [found for result in results.values() for found in result.findings]
    assert [found.place.matrix for found in findings] == ["A", "B", "A", "B"]
    assert all("ds_load" in found.related_text for found in findings)
    assert len(launches) == 1
    assert len(launches[0]) >= 2


def test_equal_targets_are_one_run() -> None:
    target = Target(wave=0, turn=1, vgpr=2, lane=3, bit=16)
    assert FollowBack((target,)) == FollowBack((replace(target),))
    assert hash(FollowBack((target,))) == hash(FollowBack((replace(target),)))
    assert FollowBack((target,)) != FollowBack((replace(target, lane=4),))


def test_waves_that_run_together_are_followed_each_by_itself(tmp_path: Path) -> None:
    """They take one way through the code, and read different bytes of LDS: each path is the wave's own."""
    code = load(standard(tmp_path).data)
    listing = load_instructions(code, code.kernel("gemm")).values()
    products = [inst for inst in listing if Kind.MATRIX in inst.kind]
    targets = [Target(wave, 0, products[0].src[0].index, lane=3, bit=0) for wave in range(8)]

    def followed(wanted: Iterable[Target]) -> LoadPaths:
        observer = LoadPathObserver(wanted)
        EmulatorBackend().run(gemm_launch(code, 128, 128, 64), [observer])
        return observer.record()

    together = followed(targets).paths
    assert together == {target: followed([target]).paths[target] for target in targets}
    read = {target.wave: together[target][0].lds_byte for target in targets}
    assert len(set(read.values())) > 1, read
