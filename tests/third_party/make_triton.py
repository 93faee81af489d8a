"""Makes the code objects of `triton/`, `triton_gfx942/` and `triton_gfx950/`, the TTGIR of those that multiply, and
their manifests anew.

Needs `pip install triton`, and no GPU.

    python -m venv /tmp/triton && /tmp/triton/bin/pip install triton==3.9.0
    /tmp/triton/bin/python tests/third_party/make_triton.py [FOLDER...]

The manifest comes from the same table as the code objects, so that the two cannot part.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct, field

HERE = Path(__file__).parent
NAMES = {
    "f16": "fp16", "bf16": "bf16", "f32": "fp32", "i8": "i8", "i32": "i32", "fp8_fnuz": "fp8e4b8", "fp8": "fp8e4nv",
}  # fmt: skip
ACCUMULATORS = {"f32": "fp32", "i32": "int32"}


class Variant(Struct, frozen=True):
    """One code object.

    Attributes:
        name: of its file, and in reports.
        kernel: function in triton_kernels.py.
        types: runtime argument -> dtype; "*f16" is a pointer.
        constants: constexpr arguments; runtime arguments may be bound here as well.
        options: of the compiler.
        small: pointers point at less than 2 GiB, which lets Triton use buffer instructions.
        manifest: lines of the [[kernel]] that are not arguments.
        arguments: lines of the arguments.
    """

    name: str
    kernel: str
    types: dict[str, str]
    constants: dict[str, object]
    options: dict[str, int]
    manifest: list[str]
    arguments: list[str]
    small: bool = False
    aligned: tuple[str, ...] = field(default=())


def buffer(name: str, role: str, dtype: str, shape: str, more: str = "") -> str:
    return f'{{ name = "{name}", role = "{role}", dtype = "{dtype}", shape = [{shape}]{more} }}'


def scalar(name: str, value: str, dtype: str = "i32") -> str:
    shown = value if dtype == "f32" else f'"{value}"'
    return f'{{ name = "{name}", role = "scalar", dtype = "{dtype}", value = {shown} }}'


def matmul(
    name: str,
    dtype: str,
    *,
    out: str = "f32",
    a: str = "row",
    b: str = "row",
    tile: tuple[int, int, int],
    warps: int,
    stages: int = 2,
    parts: int = 1,
    small: bool = False,
    ragged: bool = True,
    wave: int = 32,
    rows: int = 2,
    **options: int,
) -> Variant:
    """A GEMM of so many rows of tiles; unit strides are compile-time constants, as Triton's launcher makes them."""
    bm, bn, bk = tile
    accumulator = "i32" if dtype == "i8" else "f32"
    types = {p: f"*{t}" for p, t in (("a_ptr", dtype), ("b_ptr", dtype), ("c_ptr", out))}
    types |= dict.fromkeys(("m", "n", "k"), "i32")
    strides = {
        "stride_am": "K" if a == "row" else "", "stride_ak": "" if a == "row" else "M",
        "stride_bk": "N" if b == "row" else "", "stride_bn": "" if b == "row" else "K", "stride_cm": "N",
    }  # fmt: skip
    types |= {s: "i32" for s, v in strides.items() if v}
    constants: dict[str, object] = {s: 1 for s, v in strides.items() if not v}
    constants |= {"BM": bm, "BN": bn, "BK": bk, "ACC": accumulator, "PARTS": parts}
    sizes = [f"{{ M = {rows * bm}, N = {bn}, K = {3 * bk * parts} }}"]
    if ragged:
        sizes.append(f"{{ M = {bm + 5}, N = {bn + 11}, K = {bk * parts + 7} }}")
    grid = [f'"(M + {bm - 1}) / {bm}"', f'"(N + {bn - 1}) / {bn}"', str(parts)]
    zero = ', initial = "zero"' if parts > 1 else ""
    return Variant(
        name, "matmul", types, constants, {"num_warps": warps, "num_stages": stages} | options,
        [f"grid = [{', '.join(grid)}]", f"block = {wave * warps}", f"sizes = [{', '.join(sizes)}]",
         'contract = { kind = "gemm" }'],
        [buffer("A", "in", dtype, '"M", "K"', f', order = "{a}", matrix = "A"'),
         buffer("B", "in", dtype, '"K", "N"', f', order = "{b}", matrix = "B"'),
         buffer("C", "out", out, '"M", "N"', f', matrix = "C"{zero}'),
         scalar("m", "M"), scalar("n", "N"), scalar("k", "K"),
         *(scalar(s, v) for s, v in strides.items() if v)],
        small,
        () if ragged else ("m", "n", "k", "stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm"),
    )  # fmt: skip


def row_wise(
    name: str, kernel: str, dtype: str, block: int, warps: int, sizes: str, *, wave: int = 32
) -> Variant:
    """Softmax or layernorm: one workgroup a row."""
    pointers = ("x_ptr", "y_ptr") if kernel == "softmax" else ("x_ptr", "w_ptr", "b_ptr", "y_ptr")
    types = dict.fromkeys(pointers, f"*{dtype}") | {"n": "i32"}
    types |= {"stride": "i32"} if kernel == "softmax" else {"eps": "f32"}
    shapes = {"x_ptr": '"M", "N"', "y_ptr": '"M", "N"', "w_ptr": '"N"', "b_ptr": '"N"'}
    arguments = [
        buffer(p[0], "out" if p[0] == "y" else "in", dtype, shapes[p]) for p in pointers
    ]  # fmt: skip
    arguments += [
        scalar("n", "N"),
        scalar("stride", "N") if kernel == "softmax" else scalar("eps", "1e-5", "f32"),
    ]
    return Variant(
        name, kernel, types, {"BLOCK": block}, {"num_warps": warps},
        ['grid = "M"', f"block = {wave * warps}", f"sizes = [{sizes}]",
         f'contract = {{ kind = "reference", function = "../references.py:{kernel}" }}'],
        arguments,
    )  # fmt: skip


def attention(
    name: str,
    dtype: str,
    d: int,
    tile: tuple[int, int],
    warps: int,
    *,
    causal: bool,
    wave: int = 32,
    **options: int,
) -> Variant:
    """Flash attention over [head, length, D]."""
    types = {f"{p}_ptr": f"*{dtype}" for p in "qkvo"} | {"length": "i32", "scale": "f32"}
    shape = '"H", "L", "D"'
    return Variant(
        name, "attention", types, {"D": d, "BM": tile[0], "BN": tile[1], "CAUSAL": causal},
        {"num_warps": warps, "num_stages": 1} | options,
        [f'grid = ["(L + {tile[0] - 1}) / {tile[0]}", "H"]', f"block = {wave * warps}",
         f"sizes = [{{ H = 2, L = {2 * tile[0]}, D = {d} }}, {{ H = 1, L = {tile[0] + 21}, D = {d} }}]",
         f'contract = {{ kind = "reference", function = "../references.py:'
         f'{"causal_attention" if causal else "attention"}" }}',
         "tolerance = { absolute = 2e-2, relative = 2e-2 }"],
        [*(buffer(p, "out" if p == "o" else "in", dtype, shape) for p in "qkvo"),
         scalar("length", "L"), scalar("scale", "0.125", "f32")],
    )  # fmt: skip


RDNA3 = [
    matmul("gemm-f16", "f16", tile=(64, 64, 32), warps=4),
    matmul("gemm-f16-col-b", "f16", b="col", tile=(32, 32, 32), warps=2, stages=1),
    matmul("gemm-f16-col-a", "f16", a="col", tile=(64, 32, 32), warps=4, stages=3),
    matmul("gemm-f16-one-warp", "f16", out="f16", tile=(16, 16, 16), warps=1),
    matmul("gemm-f16-buffer", "f16", out="f16", tile=(64, 64, 32), warps=4, small=True, ragged=False),
    matmul("gemm-bf16", "bf16", tile=(64, 128, 32), warps=8),
    matmul("gemm-bf16-col-col", "bf16", out="bf16", a="col", b="col", tile=(32, 64, 16), warps=4),
    matmul("gemm-i8", "i8", out="i32", tile=(32, 32, 32), warps=2),
    matmul("splitk-f16", "f16", tile=(32, 32, 32), warps=2, parts=3),
    matmul("splitk-bf16", "bf16", b="col", tile=(64, 32, 32), warps=4, parts=2),
    row_wise("softmax-f16", "softmax", "f16", 256, 4, "{ M = 3, N = 256 }, { M = 5, N = 131 }"),
    row_wise("softmax-f32", "softmax", "f32", 1024, 8, "{ M = 2, N = 777 }"),
    row_wise("layernorm-bf16", "layernorm", "bf16", 128, 4, "{ M = 3, N = 256 }, { M = 2, N = 301 }"),
    row_wise("layernorm-f16", "layernorm", "f16", 512, 2, "{ M = 2, N = 512 }"),
    attention("attention-f16", "f16", 32, (32, 32), 4, causal=False),
    attention("attention-causal-bf16", "bf16", 64, (32, 32), 4, causal=True),
]

CDNA3 = [
    matmul("gemm-f16", "f16", tile=(64, 64, 32), warps=4, wave=64),
    matmul("gemm-f16-col-b", "f16", b="col", tile=(64, 64, 32), warps=4, wave=64, matrix_instr_nonkdim=32),
    matmul("gemm-f16-col-a", "f16", a="col", tile=(64, 32, 32), warps=2, wave=64, stages=1),
    matmul(
        "gemm-f16-buffer", "f16", out="f16", tile=(64, 64, 32), warps=4, small=True, ragged=False, wave=64
    ),
    matmul("gemm-bf16", "bf16", tile=(64, 128, 32), warps=4, wave=64, matrix_instr_nonkdim=16),
    matmul("gemm-bf16-col-col", "bf16", out="bf16", a="col", b="col", tile=(32, 64, 32), warps=4, wave=64),
    matmul("gemm-fp8", "fp8_fnuz", tile=(64, 64, 64), warps=4, wave=64),
    matmul("gemm-fp8-col-b", "fp8_fnuz", b="col", tile=(32, 32, 64), warps=2, wave=64),
    matmul("gemm-i8", "i8", out="i32", tile=(32, 32, 64), warps=2, wave=64),
    matmul("gemm-f16-waves-per-eu", "f16", tile=(128, 64, 32), warps=2, wave=64, rows=1, waves_per_eu=2),
    matmul("gemm-f16-accvgprs", "f16", tile=(64, 128, 32), warps=1, wave=64, rows=1, waves_per_eu=1),
    row_wise("softmax-f16", "softmax", "f16", 256, 4, "{ M = 3, N = 256 }, { M = 5, N = 131 }", wave=64),
    row_wise("softmax-f32", "softmax", "f32", 1024, 8, "{ M = 2, N = 777 }", wave=64),
    attention("attention-f16", "f16", 32, (64, 32), 4, causal=False, wave=64),
    attention("attention-causal-bf16", "bf16", 64, (32, 32), 2, causal=True, wave=64),
]

CDNA4 = [
    # The kernel of one tile that people look at first: A by plain reads, B by transposing ones, four products.
    matmul(
        "gemm-f16-32x32x64", "f16", out="f16", tile=(32, 32, 64), warps=1, stages=1, ragged=False, wave=64,
        matrix_instr_nonkdim=32,
    ),
    matmul("gemm-f16-swizzled", "f16", tile=(64, 64, 64), warps=4, wave=64),
    matmul("gemm-f16-col-a", "f16", a="col", tile=(64, 64, 64), warps=4, wave=64),
    matmul("gemm-f16-padded", "f16", out="f16", tile=(64, 64, 64), warps=4, small=True, ragged=False, wave=64),
    matmul("gemm-bf16-col-b", "bf16", b="col", tile=(64, 32, 64), warps=2, wave=64),
    matmul("gemm-fp8-swizzled", "fp8", tile=(32, 64, 128), warps=2, wave=64, stages=1, ragged=False),
    matmul("gemm-fp8-padded", "fp8", out="f16", tile=(64, 64, 128), warps=4, small=True, ragged=False, wave=64),
    matmul(
        "gemm-fp8-16x16x128", "fp8", tile=(32, 32, 128), warps=2, small=True, ragged=False, wave=64,
        matrix_instr_nonkdim=16,
    ),
    attention("attention-f16", "f16", 64, (64, 64), 4, causal=False, wave=64),
    attention("attention-causal-bf16", "bf16", 64, (32, 64), 2, causal=True, wave=64),
]  # fmt: skip

MADE = {
    # Folder: what Triton compiles for, and what.
    "triton": (("hip", "gfx1151", 32), RDNA3),
    "triton_gfx942": (("hip", "gfx942", 64), CDNA3),
    "triton_gfx950": (("hip", "gfx950", 64), CDNA4),
}


def compile_variant(variant: Variant, target: tuple[str, str, int], kernels: Any) -> tuple[bytes, int, str]:
    """The code object of one variant, the bytes of LDS that the launcher must give it, and its TTGIR."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    function = getattr(kernels, variant.kernel)
    # Debug information must not depend on where the repository lies.
    function.file_name = "triton_kernels.py"
    signature, constants, attributes = {}, {}, {}
    for index, name in enumerate(function.arg_names):
        if name in variant.constants:
            value = variant.constants[name]
            signature[name] = "constexpr"
            constants[name] = kernels.tl.dtype(ACCUMULATORS[str(value)]) if name == "ACC" else value
            continue
        kind = variant.types[name]
        signature[name] = f"*{NAMES[kind[1:]]}" if kind[0] == "*" else NAMES[kind]
        facts = [["tt.divisibility", 16]] if kind[0] == "*" or name in variant.aligned else []
        if kind[0] == "*" and variant.small:
            facts.append(["tt.pointer_range", 32])
        attributes[(index,)] = facts
    source = ASTSource(fn=function, signature=signature, constexprs=constants, attrs=attributes)
    compiled = compile(source, target=GPUTarget(*target), options=variant.options)
    return bytes(compiled.asm["hsaco"]), compiled.metadata.shared, without_places(compiled.asm["ttgir"])


def without_places(text: str) -> str:
    """TTGIR without lines of source: a third of its length, and no part of a layout."""
    kept = [line for line in text.splitlines() if not line.startswith("#loc")]
    return (
        "\n".join(re.sub(r' loc\((?:#loc\d*|(?:"[^"]*"|callsite)\([^()]*\))\)', "", line) for line in kept)
        + "\n"
    )


def manifest(variant: Variant, lds: int) -> str:
    """The [[kernel]] of a variant."""
    arguments = [*variant.arguments, '{ role = "null" }', '{ role = "null" }']
    return "\n".join(
        [
            "[[kernel]]",
            f'name = "{variant.name}"',
            f'code_object = "{variant.name}.hsaco"',
            *variant.manifest,
            f"dynamic_lds = {lds}",
            "argument = [",
            *(f"  {argument}," for argument in arguments),
            "]",
        ]
    )


def main() -> None:
    """Compile everything, then write the manifest."""
    os.chdir(Path(__file__).parent)  # the names of sources in the objects are relative
    sys.path.insert(0, ".")
    import triton
    import triton_kernels

    head = f"# Written by make_triton.py, together with the code objects, with Triton {triton.__version__}."
    for name in sys.argv[1:] or MADE:
        target, variants = MADE[name]
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        kernels = []
        for variant in variants:
            data, lds, ttgir = compile_variant(variant, target, triton_kernels)
            kernels.append(manifest(variant, lds))
            (folder / f"{variant.name}.hsaco").write_bytes(data)
            if " tt.dot" in ttgir:  # else it declares no layout of a matrix instruction
                (folder / f"{variant.name}.ttgir").write_text(ttgir)
            print(f"{variant.name}: {len(data)} bytes")
        (folder / "layoutprobe.toml").write_text("\n\n".join([head, *kernels]) + "\n")


if __name__ == "__main__":
    main()
