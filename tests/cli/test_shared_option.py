"""`pytest --shared=DIR`: oracle tests run only with it, and then cannot stay silent."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ORACLE = """
import pytest
def test_holds(shared_file): assert shared_file("table.csv").read_text() == "1"
def test_skips(shared_dir): pytest.skip("no name for it")
def test_file_is_missing(shared_file): shared_file("gone.csv")
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A small suite with our conftest, one oracle file, and one table to compare with."""
    (tmp_path / "tests" / "oracle_shared").mkdir(parents=True)
    for name in ("conftest.py", "examples.py", "sampling.py", "seconds.csv"):
        shutil.copy(TESTS / name, tmp_path / "tests")
    (tmp_path / "tests" / "oracle_shared" / "test_oracle.py").write_text(ORACLE, "utf-8")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "table.csv").write_text("1", "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\npythonpath = tests\n", "utf-8")
    return tmp_path


def pytest_in(suite: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments]
    return subprocess.run(command, cwd=suite, capture_output=True, text=True, timeout=60)


def test_without_the_option_nothing_is_collected(suite: Path) -> None:
    done = pytest_in(suite)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, "and that is not green"


def test_a_missing_directory_fails(suite: Path) -> None:
    done = pytest_in(suite, "--shared=nowhere")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no such directory" in done.stderr


@pytest.mark.parametrize("arguments", [("--shared=shared",), ("tests", "--shared", "shared")])
def test_skips_and_missing_files_are_failures(suite: Path, arguments: tuple[str, ...]) -> None:
    done = pytest_in(suite, *arguments)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 passed" in done.stdout
    assert "2 failed" in done.stdout
    assert "an oracle test may not be skipped" in done.stdout
    assert "the oracle cannot speak" in done.stdout
