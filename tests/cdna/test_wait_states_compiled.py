"""Wait states of CDNA as the compiler knows them: the passes of every matrix instruction, asked of clang.

Each kernel multiplies with one builtin and takes an element of D at once. What clang puts between is the
number; without its s_nop the check asks for exactly that.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from checks.watched import launch, verdict

from layoutprobe.arch import TARGETS, MatrixForm
from layoutprobe.checks import wait_states
from layoutprobe.codeobj.elf import load
from layoutprobe.toolchain.compile import assemble, compile_hip

PRELUDE = """
#define V(t, n) t __attribute__((ext_vector_type(n)))
template <class T> __attribute__((device)) T take(const unsigned* p) {
  union { unsigned words[sizeof(T) / 4]; T value; } u;
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) u.words[i] = p[i];
  return u.value;
}
"""
KERNEL = """
extern "C" __attribute__((global)) void k{number}(const unsigned* in, float* out) {{
  const auto d = {builtin}(take<{a}>(in), take<{b}>(in + 8), take<{d}>(in + 16){rest});
  out[0] = float(d[1] * d[1]);
}}
"""
NAMES = {"f16": "_Float16", "bf16": "__bf16", "f32": "float", "f64": "double", "i32": "int"}


def vector(element: str, count: int) -> str:
    return element if count == 1 else f"V({element}, {count})"


def operand(form: MatrixForm, registers: int, old: bool) -> str:
    """The type that the builtin takes for A or B."""
    match form.a:
        case "f32":
            return "float"
        case "f64":
            return "double"
        case "xf32":
            return vector("float", 2)
        case "bf16" if old:
            return vector("short", 2 * registers)
        case "f16" | "bf16":
            return vector(NAMES[form.a], 2 * registers)
    if form.sparse or registers != 2:
        return vector("int", 8 if "f8f6f4" in form.name else registers)
    return "long"


def builtin(form: MatrixForm, target: str) -> tuple[str, bool]:
    """The name of the builtin, and whether it is one of the older ones, which take bf16 as shorts."""
    name = form.name.removeprefix("v_")
    old = form.name in TARGETS["gfx942"].matrix
    if "f8f6f4" in name:
        name = name.replace("mfma_f32", "mfma_scale_f32")
    elif not form.sparse and old:
        name = re.sub(r"_\d+b_", "_", name)
        if form.a in ("f32", "f16", "f64") or (form.a == "i8" and form.shape[2] == 4):
            name = re.sub(r"(x\d+)_", r"\1", name)
        elif form.a == "bf16":
            name = re.sub(r"(x\d+)_", r"\1", name) + "_1k"
    return "__builtin_amdgcn_" + name, old


def kernel(number: int, form: MatrixForm, target: str) -> str:
    name, old = builtin(form, target)
    regs = form.vgprs(64)
    rest = ", 0, 0, 0"
    if form.sparse:
        rest = ", int(in[60]), 0, 0"
    elif "f8f6f4" in form.name:
        scales = "int(in[60]), 0, int(in[61])" if form.scaled else "0, 0, 0"
        rest = f", {form.select['cbsz']}, {form.select['blgp']}, 0, {scales}"
    d = vector(NAMES[form.result], regs["D"] * 32 // form.result_bits)
    a, b = (operand(form, regs[name], old) for name in "AB")
    text = KERNEL.format(number=number, builtin=name, a=a, b=b, d=d, rest=rest)
    return text.replace("d[1]", "d") if d == "double" else text


def forms(target: str) -> list[MatrixForm]:
    """All; of those that modifiers give their formats, pairs with and without 8 bits."""
    return [
        form
        for form in TARGETS[target].matrix.values()
        if "f8f6f4" not in form.name or (form.a in ("fp8", "fp4") and form.b in ("bf8", "fp6"))
    ]


@cache
def compiled(target: str, folder: Path) -> str:
    path = folder / f"{target}.hip"
    path.write_text(PRELUDE + "".join(kernel(n, form, target) for n, form in enumerate(forms(target))))
    return compile_hip(path, target=target, flags=("-O3",)).assembly


def states_behind(body: list[str]) -> int:
    """Wait states between the matrix instruction and the product that takes an element of D."""
    at = next(n for n, text in enumerate(body) if re.match(r"v_s?mf", text))
    states = 0
    for text in body[at + 1 :]:
        if text.startswith("v_mul"):
            return states
        states += int(text.split()[1]) + 1 if text.startswith("s_nop") else 1
    raise AssertionError(body)


def without_waits(text: str) -> str:
    """Without the s_nop between a matrix instruction and the product that takes its D."""
    kept, behind = [], False
    for line in text.split("\n"):
        word = line.strip().split(" ")[0]
        if not (behind and word == "s_nop"):
            kept.append(line)
        behind = word.startswith(("v_mfma_", "v_smfmac_")) or (behind and not word.startswith("v_mul"))
    return "\n".join(kept)


@pytest.mark.few(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_every_matrix_instruction(target: str, tmp_path: Path) -> None:
    """Compiled code holds; without the waits behind the matrix instruction each is a finding with clang's number."""
    text = compiled(target, tmp_path)
    bodies = {
        int(number): [line.split(";")[0].strip() for line in body.split("\n") if line.startswith("\t")]
        for number, body in re.findall(r"^k(\d+):(.*?)s_endpgm", text, re.M | re.S)
    }
    whole, stripped = (load(assemble(one, target=target).data) for one in (text, without_waits(text)))
    for number, form in enumerate(forms(target)):
        args = [np.zeros(256, np.uint32), np.zeros(64, np.float32)]
        right = verdict(wait_states.CHECK, launch(whole, args, kernel=f"k{number}", block=64))
        assert right.status == "holds", (form.spelling, right)
        wrong = verdict(wait_states.CHECK, launch(stripped, args, kernel=f"k{number}", block=64))
        found = [f for f in wrong.findings if str(f.place.instruction).startswith("v_mul")]
        needed = states_behind([line for line in bodies[number] if line and not line.startswith(".")])
        assert [f.expected.split(" (")[0] for f in found] == [f"{needed} wait states"], (form.spelling, wrong)
