"""Probes in CUDA C++: how they are compiled, and the one that executes a single mma.sync."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from layoutprobe.arch.matrix import MatrixForm
from layoutprobe.assets import asset_dir
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.extras.nvidia.compiler import compile_cuda
from layoutprobe.instructions.probe import Built, Variant
from layoutprobe.toolchain.languages import Language

KERNEL = "interaction"


LANGUAGE = Language("cuda", ".cu", compile_cuda)


def interaction_kernel(variant: Variant, compiler: str | None, probes: Path | None) -> Built:
    """The kernel for one mma.sync, which is compiled for it alone.

    Raises:
        ToolchainError: there is no compiler, or it refuses the probe.
    """
    code, toolchain = _built(variant.form, variant.arch, probes)
    return Built(code, KERNEL, toolchain)


@lru_cache(maxsize=64)
def _built(form: MatrixForm, arch: str, probes: Path | None) -> tuple[CodeObject, Mapping[str, str]]:
    vgprs = form.vgprs(form.waves[0])
    defines: dict[str, str | int] = {f"{name}_REGS": vgprs[name] for name in "ABD"}
    defines |= {"INSTRUCTION": f'"{form.name}"', "D_IS_F32": int(form.result == "f32")}
    source = (probes or asset_dir("probes")) / "nvidia" / "interaction.cu"
    return compile_cuda(source, target=arch, defines=defines)
