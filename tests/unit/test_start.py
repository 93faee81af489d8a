"""What a command imports: most of the time of a short run is spent there, so it must be what it uses."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from layoutprobe.arch import TARGETS, registry
from layoutprobe.cli.main import main

SEEDS = Path(__file__).parents[2] / "probes" / "gemm" / "seeds"

TOLD = """
import io, sys
from layoutprobe.cli.main import main
sys.stdout, shown = io.TextIOWrapper(io.BytesIO()), sys.stdout
code = main(sys.argv[1:])
sys.stdout = shown
print(code, *sys.modules)
"""

COMPILING = {"subprocess", "layoutprobe.toolchain.process"}
DECODING = {"tinygrad", "layoutprobe.isa.decode"}
RECORDING = {"zipfile", "layoutprobe.backends.recorded", "layoutprobe.capture.file"}
GATE = {f"layoutprobe.{room}" for room in ("checks", "gate", "manifest", "observe", "trace")}
NEVER = {"ml_dtypes", "layoutprobe.engine.native", "layoutprobe.fidelity", "layoutprobe.extras"}
OTHERS = {"layoutprobe.arch.cdna", "layoutprobe.arch.mfma"}


def imported_by(*words: str) -> set[str]:
    """Modules and packages that a command has imported when it ends well."""
    done = subprocess.run(
        [sys.executable, "-c", TOLD, *words], capture_output=True, text=True, check=True, timeout=120
    )
    code, *modules = done.stdout.split()
    assert code == "0", done.stderr
    return set(modules)


def test_a_dump_whose_code_is_in_the_cache_imports_what_it_uses() -> None:
    words = ("dump", "--matrix", "A", "--lds", "xor")
    imported_by(*words)  # fills the cache
    imported = imported_by(*words)
    assert "layoutprobe.solver.hotsets" in imported, "the scan sees modules"
    spared = COMPILING | DECODING | RECORDING | GATE | OTHERS | NEVER
    spared |= {
        "numpy.ma",
        "fractions",
        "layoutprobe.codeobj.debug_info",
        "layoutprobe.claims",
        "layoutprobe.render.gate.words",
    }
    assert imported & spared == set()


@pytest.mark.parametrize("words", [("--version",), ("dump", "--help"), ("list", "patterns")])
def test_what_needs_no_kernel_needs_no_emulator(words: tuple[str, ...]) -> None:
    imported = imported_by(*words)
    assert imported & {"layoutprobe.engine.scheduler", "layoutprobe.semantics", "layoutprobe.solver"} == set()


def test_help_needs_no_numpy() -> None:
    assert "numpy" not in imported_by("--help")


def test_a_command_imports_no_other_command() -> None:
    imported = imported_by("dump", "--help")
    assert {
        f"layoutprobe.cli.{name}" for name in ("check", "claim", "diff", "fidelity", "run")
    } & imported == set()


def test_a_family_is_found_by_its_matrix_instructions() -> None:
    """Decoded instructions ask whether a mnemonic is one, before anybody has named a target of its family."""
    assert len(TARGETS) > 0, "all families are loaded"
    for family, prefixes in registry.FAMILIES.items():
        module = sys.modules[f"layoutprobe.arch.{family}"]
        names = {name for target in module.TARGETS for name in target.matrix}
        assert {name for name in names if not name.startswith(prefixes)} == set(), family


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x16_f16", "v_swmmac_f32_16x16x32_f16"])
def test_a_matrix_instruction_is_known_whatever_was_loaded(name: str) -> None:
    text = f"from layoutprobe.isa.kind import Kind, kind_of; print(Kind.MATRIX in kind_of({name!r}))"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "True\n", done.stderr


def test_decoding_leaves_the_recursion_limit_of_the_process_alone() -> None:
    """The decoder's package raises it as it is imported; hypothesis, for one, complains of that."""
    code = (
        "import sys; from layoutprobe.isa.mnemonics import package; before = sys.getrecursionlimit(); "
        "package('renderer.amd'); sys.exit(sys.getrecursionlimit() != before)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_literal_that_is_not_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package looks for forms with a literal among Python's modules; without, it would read 0."""
    from layoutprobe.errors import CodeObjectError
    from layoutprobe.isa.decode import decode_one
    from layoutprobe.isa.mnemonics import package

    data = struct.pack("<4I", 0xCA2200FF, 0x01000082, 0x7F800000, 0)
    assert [operand.value for operand in decode_one(data, 0).pair[0].src] == [0x7F800000]
    monkeypatch.delattr(package("runtime.autogen.amd.rdna3.ins"), "VOPD_LIT")
    with pytest.raises(CodeObjectError):
        decode_one(data, 0)


def test_a_check_that_holds_imports_what_it_uses() -> None:
    imported = imported_by(
        "check",
        str(SEEDS),
        "--kernel",
        "standard",
        "--check",
        "operand-provenance",
        "--check",
        "swizzle",
        "--jobs",
        "1",
    )
    assert "layoutprobe.trace.blame" in imported, "the scan sees modules"
    names = (
        "advances",
        "altered",
        "by_values",
        "findings",
        "influence",
        "odd_reads",
        "steps_otherwise",
        "unread",
    )
    spared = {"numpy.ma", "layoutprobe.report.kernel_view", *(f"layoutprobe.trace.{name}" for name in names)}
    assert imported & spared == set()


@pytest.mark.parametrize(("words", "left"), [(("list", "patterns"), "1"), (("run", "/nowhere"), None)])
def test_blas_has_one_thread_but_in_programs_of_the_user(
    words: tuple[str, ...], left: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "")  # so that it is put back
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    main([*words])
    assert os.environ.get("OPENBLAS_NUM_THREADS") == left
