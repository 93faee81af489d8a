"""`check --base`: what a manifest asks less than that of another commit, or of a file."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
from fake_gates import green
from msgspec.structs import replace

from layoutprobe.cli.main import main
from layoutprobe.errors import UsageError
from layoutprobe.gate.base import relaxed
from layoutprobe.manifest.read import read_manifest
from layoutprobe.manifest.relaxed import relaxations
from layoutprobe.render.formats import find, names

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "gate.schema.json").read_text("utf-8"))
KERNEL = """\
[[kernel]]
name = "gemm"
source = "gemm.hip"
grid = ["(N + 63) / 64", "(M + 127) / 128"]
block = [256]
arch = ["gfx1151", "gfx1201"]
sizes = [{ M = 128, N = 64, K = 32 }, { M = 130, N = 70, K = 33 }]
contract = { kind = "gemm", alpha = 2.0, beta = 0.5 }
tolerance = { absolute = 1e-3 }
limits = { vgprs = 96, occupancy = 8 }
skip = { swizzle = "none" }
argument = [
  { name = "A", role = "in", dtype = "f16", shape = ["M", "K"], matrix = "A" },
  { name = "B", role = "in", dtype = "f16", shape = ["K", "N"], matrix = "B", ld = "N + 8" },
  { name = "C", role = "inout", dtype = "f32", shape = ["M", "N"], matrix = "C" },
]
[[kernel.accept]]
rule = "races/read-after-write"
line = "gemm.hip:3"
reason = "known"
until = 2030-01-01

"""
OTHER = KERNEL.replace('name = "gemm"', 'name = "other"')


def between(folder: Path, before: str, after: str) -> tuple[str, ...]:
    read = []
    for name, text in (("before", before), ("after", after)):
        (folder / f"{name}.toml").write_text(text, "utf-8")
        read.append(read_manifest(folder / f"{name}.toml"))
    return relaxations(*read)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "{ M = 130, N = 70, K = 33 }",
            "{ M = 256, N = 70, K = 33 }",
            "gemm: size M=130 N=70 K=33 is dropped",
        ),
        ("contract =", "multiple = { N = 2 }\ncontract =", "gemm: only multiples of 2 of N are asked for"),
        ("contract =", 'where = ["N <= M"]\ncontract =', "gemm: only sizes with N <= M are asked for"),
        (', "gfx1201"', "", "gemm: target gfx1201 is dropped"),
        (
            "[[kernel.acc",
            'checks = ["memory"]\n[[kernel.acc',
            "gemm: only memory are asked for, all checks before",
        ),
        ("swizzle =", 'races = "slow", swizzle =', "gemm: races is skipped: slow"),
        ("swizzle =", '"memory/trap" = "ok", swizzle =', "gemm: memory/trap is skipped: ok"),
        (
            "block = [256]",
            "block = [256]\nbears = []",
            "gemm: unusual inputs are those that it bears (none), all kinds before",
        ),
        ("2030-01-01", "2031-01-01", "accepted until 2031-01-01, 2030-01-01 before"),
        ("hip:3", "hip:4", "gemm: races/read-after-write at gemm.hip:4 is accepted until 2030-01-01: known"),
        ("1e-3", "1e-2", "gemm: absolute tolerance 0.01, 0.001 before"),
        ("1e-3 }", "1e-3, relative = 1e-9 }", "gemm: relative tolerance 1e-09, chosen by the check before"),
        (
            '"f32", shape',
            '"f32", tolerance = { absolute = 1 }, shape',
            "gemm: absolute tolerance of C 1, 0.001 before",
        ),
        ("vgprs = 96", "vgprs = 97", "gemm: limit on vgprs 97, 96 before"),
        ("vgprs = 96, ", "", "gemm: limit on vgprs none, 96 before"),
        ("occupancy = 8", "occupancy = 7", "gemm: limit on occupancy 7, 8 before"),
        ('kind = "gemm", alpha = 2.0, beta = 0.5', 'kind = "none"', "gemm: contract is another"),
        ("beta = 0.5", "beta = 0.0", "gemm: contract is another"),
        ('source = "gemm.hip"', 'source = "good.hip"', "gemm: source is another"),
        ("block = [256]", "block = [256]\ndefines = { NDEBUG = 1 }", "gemm: defines is another"),
        ('grid = ["(N + 63)', 'grid = ["(N + 127)', "gemm: grid is another"),
        (', ld = "N + 8"', "", "gemm: argument B has another ld: N + 8 before, None now"),
        ('"f32", shape', '"f32", initial = "zero", shape', "gemm: argument C has another initial"),
        (
            '"A", role = "in", dtype = "f16"',
            '"A", role = "in", dtype = "bf16"',
            "gemm: argument A has another dtype",
        ),
        (
            'dtype = "f16", shape = ["M", "K"]',
            'dtype = "f16", values = "i0", shape = ["M", "K"]',
            "has another values",
        ),
    ],
)
def test_each_way_of_asking_less(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert KERNEL.count(old) == 1, old
    (said,) = between(tmp_path, KERNEL, KERNEL.replace(old, new))
    assert says in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[{ M = 128", "[{ M = 1, N = 1, K = 1 }, { M = 128"),
        ("1e-3", "1e-4"),
        ("block = [256]", "block = [256]\ntile = { M = 128, N = 64, K = 16 }"),
        ("vgprs = 96", "vgprs = 90"),
        ("occupancy = 8", "occupancy = 9"),
        ('skip = { swizzle = "none" }\n', ""),
        ("2030-01-01", "2029-01-01"),
        ("[[kernel]]", "# the same\n[[kernel]]"),
    ],
)
def test_asking_as_much_or_more_is_none(tmp_path: Path, old: str, new: str) -> None:
    assert between(tmp_path, KERNEL, KERNEL) == ()
    assert between(tmp_path, KERNEL, KERNEL.replace(old, new)) == ()
    assert between(tmp_path, KERNEL, KERNEL + OTHER) == ()


def test_kernels_that_are_gone(tmp_path: Path) -> None:
    assert between(tmp_path, KERNEL + OTHER, OTHER) == ("kernel gemm is dropped",)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of which the second commit drops a size; its manifest lies in a folder."""
    folder = tmp_path / "repo" / "kernels"
    folder.mkdir(parents=True)

    def git(*words: str) -> None:
        named = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q", "-b", "main", "..")
    (folder / "empty").write_text("")
    git("add", "-A")
    git("commit", "-qm", "none yet")
    git("tag", "none")
    (folder / "layoutprobe.toml").write_text(KERNEL, "utf-8")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("tag", "one")
    (folder / "layoutprobe.toml").write_text(KERNEL.replace("130", "256"), "utf-8")
    return folder / "layoutprobe.toml"


def test_against_a_commit(repository: Path) -> None:
    now = read_manifest(repository)
    dropped = ("gemm: size M=130 N=70 K=33 is dropped",)
    assert relaxed("main", now) == relaxed("one", now) == relaxed("HEAD", now) == dropped
    assert relaxed("none", now) == (), "a new manifest relaxes nothing"
    assert relaxed(str(repository), now) == (), "a file"


@pytest.mark.parametrize(
    "ref", ["nowhere", "--output=x", "-h", "main:..", "a b", "$(touch x)", "main\n", "x" * 300, ""]
)
def test_what_is_no_commit(repository: Path, ref: str) -> None:
    with pytest.raises(UsageError) as caught:
        relaxed(ref, read_manifest(repository))
    assert "no " in caught.value.what
    assert not list(repository.parent.glob("x*"))


def test_a_base_that_cannot_be_read_is_said(repository: Path) -> None:
    old = repository.with_name("old.toml")
    old.write_text("[[kernel]]\nname = 'gemm'\nfuture = 1\n", "utf-8")
    (said,) = relaxed(str(old), read_manifest(repository))
    assert said.startswith("nothing was compared: ")


def test_the_command_lists_them_and_strict_is_undecided(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["check", str(repository), "--base", "one", "--check", "resources", "--jobs", "1"]
    assert main(command) == 2  # gemm.hip is missing
    said = " ".join(capsys.readouterr().out.split())
    assert "1 relaxation of the manifest since one" in said
    assert "size M=130 N=70 K=33 is dropped" in said


@pytest.mark.parametrize("name", names("gate"))
def test_every_writer_lists_them(name: str) -> None:
    relaxed_report = replace(green(), base="main", relaxations=("gemm: races is skipped",))
    for strict, code in ((False, 0), (True, 2)):
        report = replace(relaxed_report, strict=strict)
        assert report.exit_code == code
        stream = io.StringIO()
        find("gate", name).write(report, stream)
        text = stream.getvalue().replace("%3A", ":").replace("&#58;", ":")
        assert "gemm: races is skipped" in text
        if name == "json":
            jsonschema.validate(json.loads(text), SCHEMA)
        if name == "junit":
            assert ("<error" in text) is strict
