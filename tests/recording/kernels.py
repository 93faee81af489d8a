"""Kernels that are recorded in the tests: HIP and Triton, RDNA3 and CDNA3, with and without a product as contract."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from layoutprobe.assets import asset_dir
from layoutprobe.inspector.inspect import Inspection, inspect

TESTS = Path(__file__).parents[1]
GEMM = Path(asset_dir("probes")) / "gemm"
SMALL = {"M": 128, "N": 128, "K": 32}
KERNELS: dict[str, tuple[Path, str, dict[str, int] | None]] = {
    "asmOpt": (GEMM / "seeds" / "layoutprobe.toml", "asmOpt", SMALL),
    "ragged": (GEMM / "seeds" / "layoutprobe.toml", "asmOpt", {"M": 200, "N": 137, "K": 75}),
    "xor": (GEMM / "seeds" / "layoutprobe.toml", "xor_optimized", SMALL),
    "column": (GEMM / "seeds" / "buggy.toml", "asmOpt-column", SMALL),
    "int4": (TESTS / "third_party" / "kernels" / "layoutprobe.toml", "int4", None),
    "int8": (TESTS / "third_party" / "kernels" / "layoutprobe.toml", "int8", None),
    "spilling": (TESTS / "third_party" / "kernels" / "layoutprobe.toml", "spilling", None),
    "indexed": (TESTS / "third_party" / "kernels" / "layoutprobe.toml", "indexed", None),
    "indexed-array": (TESTS / "third_party" / "kernels" / "layoutprobe.toml", "indexed-array", None),
    "scratch": (TESTS / "third_party" / "kernels" / "layoutprobe.toml", "unoptimised", None),
    "attention": (TESTS / "third_party" / "kernels" / "layoutprobe.toml", "attention", None),
    "triton-attention": (TESTS / "third_party" / "triton" / "layoutprobe.toml", "attention-f16", None),
    "triton-mfma": (TESTS / "third_party" / "triton_gfx942" / "layoutprobe.toml", "gemm-f16-accvgprs", None),
    "triton-fp8": (TESTS / "third_party" / "triton_gfx942" / "layoutprobe.toml", "gemm-fp8", None),
    "tr16": (GEMM / "rdna4" / "layoutprobe.toml", "tr16", {"M": 48, "N": 128, "K": 32}),
    "pv": (GEMM / "cdna" / "layoutprobe.toml", "pv", {"M": 128, "N": 128, "K": 128}),
    "tr8-wave64": (GEMM / "rdna4" / "layoutprobe.toml", "tr8-wave64", {"M": 48, "N": 128, "K": 32}),
}


@cache
def opened(name: str) -> Inspection:
    """One of KERNELS, to be looked into."""
    manifest, kernel, size = KERNELS[name]
    return inspect(manifest, kernel, size=size)
