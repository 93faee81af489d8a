"""Plants a fault in a correct kernel, and asks all checks about it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from layoutprobe.assets import asset_dir
from layoutprobe.checks.registry import CHECKS, check_names
from layoutprobe.gate.session import check_kernel
from layoutprobe.manifest.model import Expression, Gemm, KernelCase
from layoutprobe.manifest.read import read_manifest
from layoutprobe.patterns.expression import parse
from layoutprobe.report.gate import KernelVerdict
from layoutprobe.toolchain.compile import compile_hip

if TYPE_CHECKING:
    import pytest

GEMM = asset_dir("probes") / "gemm"
HELPERS = "wmma_helpers.h"
MFMA_HELPERS = "cdna/mfma_helpers.h"
MANIFESTS = ("seeds", "cdna")
INCLUDES = re.compile(r'^#include "(.*)"$', re.MULTILINE)
Size = tuple[int, int, int]
"""M, N, K."""


class Edit(Struct, frozen=True):
    """A change of the source: `old`, which stands there exactly once, becomes `new`.

    Attributes:
        old, new: the texts.
        file: what is edited: "" for the kernel's own source.
    """

    old: str
    new: str
    file: str = ""


class WaitEdit(Struct, frozen=True):
    """A change of one wait in the compiler's assembly, found by what stands around it.

    Compilers differ in where they wait, and so a wait is not found by a text that fits once, but as
    the last one on the counter before the first instruction that matches, after a mark.

    Attributes:
        counter: "vmcnt" or "lgkmcnt".
        before: what the instruction behind the wait begins with.
        after: an instruction that stands before both of them, "" for the kernel's beginning.
        allows: what the wait lets be outstanding from now on; None for no wait at all.
    """

    counter: str
    before: str
    after: str = ""
    allows: int | None = None

    def apply(self, assembly: str) -> str:
        """The assembly with that wait changed."""
        lines = assembly.split("\n")
        start = self._first(lines, self.after, 0) if self.after else 0
        end = self._first(lines, self.before, start)
        waits = [i for i in range(start, end) if re.match(rf"\s*s_waitcnt\b.*{self.counter}\(", lines[i])]
        assert waits, f"no wait on {self.counter} between {self.after!r} and {self.before!r}"
        new = "" if self.allows is None else f"{self.counter}({self.allows})"
        changed = re.sub(rf"{self.counter}\(\d+\)", new, lines[waits[-1]])
        lines[waits[-1]] = changed if "cnt(" in changed else ""
        return "\n".join(lines)

    @staticmethod
    def _first(lines: Sequence[str], text: str, start: int) -> int:
        found = [i for i, line in enumerate(lines) if i >= start and line.lstrip().startswith(text)]
        assert found, f"no {text!r} in the assembly"
        return found[0]


LARGE = "return gemm_tile<128, 128>(lds, A, B, K, out);"
"""In adaptive: what no size of the campaign runs."""
RAGGED_STORES = """\
  else if (out.beta == 0.0f)
    write_tiles<false, false>(out, acc, row0, col0);
  else
    write_tiles<false, true>(out, acc, row0, col0);
"""
RAGGED_LOADS = """\
  half8 values;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const bool exists = row < t.rows && col + i < t.cols;
    const _Float16 value = t.element(exists ? offset + i : 0u);
    values[i] = exists ? value : _Float16(0);
  }
  return {values, true};
"""
"""In the helpers: what whole tiles do not run."""


@cache
def kernels() -> Mapping[str, KernelCase]:
    """The correct kernels, as their manifests have them."""
    files = (GEMM / folder / "layoutprobe.toml" for folder in MANIFESTS)
    read = (read_manifest(file, checks=check_names()).kernels for file in files)
    return {case.name: case for cases in read for case in cases}


def sources(case: KernelCase) -> dict[str, Path]:
    """Where a kernel's own source, the first, and what it includes lie, by their places below a planted folder."""
    found: dict[str, Path] = {}
    wanted = [case.file]
    for file in wanted:
        found[file.resolve().relative_to(GEMM.resolve()).as_posix()] = file
        wanted += [file.parent / name for name in INCLUDES.findall(file.read_text())]
    return found


def planted(
    folder: Path,
    kernel: str,
    edits: Sequence[Edit | WaitEdit],
    sizes: Sequence[Size],
    *,
    grid: Sequence[str] = (),
    dynamic_lds: int | None = None,
    beta: float | None = None,
) -> KernelCase:
    """A kernel of the seeds with a fault in it.

    Args:
        folder: an empty one, which the changed sources go to.
        kernel: its name in the manifest.
        edits: of the sources, or of the assembly that they compile to.
        sizes: to run.
        grid, dynamic_lds, beta: of the launch, where the fault lies or shows there.
    """
    case = kernels()[kernel]
    copies = {folder / name: file for name, file in sources(case).items()}
    for copy, file in copies.items():
        copy.parent.mkdir(exist_ok=True)
        shutil.copy(file, copy)
    source = next(iter(copies))
    for edit in edits:
        if isinstance(edit, Edit):
            _edit(folder / edit.file if edit.file else source, edit)
    _leave_out(source, LARGE, "return;")
    if all(m % 128 == 0 and n % 64 == 0 and k % 16 == 0 for m, n, k in sizes) and folder / HELPERS in copies:
        _leave_out(folder / HELPERS, RAGGED_STORES, "")
        _leave_out(folder / HELPERS, RAGGED_LOADS, "  return {};")
    waits = [edit for edit in edits if isinstance(edit, WaitEdit)]
    if waits:
        assembly = compile_hip(source, target=case.arches[0]).assembly
        for wait in waits:
            assembly = wait.apply(assembly)
        source = source.with_suffix(".s")
        source.write_text(assembly)
    named = tuple(dict(zip("MNK", size, strict=True)) for size in sizes)
    case = replace(case, source=source, sizes=named)
    if grid:
        x, y, z = (*grid, "1", "1", "1")[:3]
        case = replace(case, grid=(_expression(x), _expression(y), _expression(z)))
    if dynamic_lds is not None:
        case = replace(case, dynamic_lds=_expression(str(dynamic_lds)))
    if beta is not None:
        assert isinstance(case.contract, Gemm)
        case = replace(case, contract=replace(case.contract, beta=beta))
    return case


def _edit(path: Path, edit: Edit) -> None:
    text = path.read_text()
    times = text.count(edit.old)
    assert times == 1, f"the text to edit stands {times} times in {path.name}: {edit.old!r}"
    path.write_text(text.replace(edit.old, edit.new))


def _leave_out(path: Path, unused: str, instead: str) -> None:
    """Take code away that is not run, for the compiler's sake. Lines keep their numbers."""
    text = path.read_text()
    path.write_text(text.replace(unused, instead + "\n" * unused.count("\n")))


def _expression(text: str) -> Expression:
    return Expression(text, parse(text, frozenset("MNK")))


def judged(case: KernelCase) -> KernelVerdict:
    """What all checks say of a kernel."""
    return check_kernel(case, case.arches[0], CHECKS)


def empty_folder(config: pytest.Config, kind: str, name: str) -> Path:
    """A folder for a fault, the same in every run and empty."""
    assert config.cache is not None
    folder = config.cache.mkdir(kind) / sha256(name.encode()).hexdigest()[:16]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
