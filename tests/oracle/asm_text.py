"""The compiler's own assembly text as data, to hold against a decoder of the binary.

What the text shows and the binary does not: labels (here resolved to instruction indices). What the
binary shows and the text does not: the `s_nop 0` that `.p2align` inserts (see `AsmInst.align`) and
the `s_code_end` after the last kernel (not in any kernel's list).

Grammar: LLVM, "User Guide for AMDGPU Backend", sections on operands and modifiers of GFX11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct, field
from msgspec.structs import replace

# Printed after the mnemonic to force or to tell an encoding; no part of the operation's name.
_ENCODINGS = re.compile(r"_(e64_dpp|e32_dpp|e64|e32|dpp|sdwa)$")
_LABEL = re.compile(r'([A-Za-z_.$][\w.$]*|"[^"]*"):')
_MODIFIER = re.compile(r"([A-Za-z_]\w*):(\S+)")
# Words that stand alone after the operands.
_FLAGS = frozenset(
    [
        *("clamp", "offen", "idxen", "glc", "slc", "dlc", "sc0", "sc1", "nt", "gds", "lds", "tfe"),
        *("row_mirror", "row_half_mirror"),
    ]
)
_COUNTER = re.compile(r"(\w+)\(([^)]*)\)")
_REGISTER = re.compile(
    r"(?P<file>v|s|ttmp|a)(?:(?P<one>\d+)(?:\.(?P<half>[lh]))?|\[(?P<first>\d+):(?P<last>\d+)\])"
)
_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)")
_FLOAT = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")
_SPECIAL = frozenset(
    [
        "vcc",
        "vcc_lo",
        "vcc_hi",
        "exec",
        "exec_lo",
        "exec_hi",
        "m0",
        "null",
        "scc",
        "off",
        "vccz",
        "execz",
        "flat_scratch",
        "flat_scratch_lo",
        "flat_scratch_hi",
        "src_shared_base",
        "src_shared_limit",
        "src_private_base",
        "src_private_limit",
    ]
)


class AsmSyntax(Exception):  # noqa: N818
    """A line of assembly text that this parser does not understand: it never guesses."""


class Operand(Struct, frozen=True):
    """One operand, normalised.

    Attributes:
        kind: vgpr, sgpr, special (`vcc_lo`, `null`, `off`), int, float, label, or text.
        name: of a special register, label or text; the register file's letters for registers.
        index: first register; count: how many.
        half: "l" or "h" of a true16 register, else "".
        value: of an int (as written, maybe negative) or float.
        neg, abs, sext: source modifiers written as `-x`, `|x|`, `neg(x)`, `abs(x)`, `sext(x)`.
    """

    kind: str
    name: str = ""
    index: int = -1
    count: int = 1
    half: str = ""
    value: int | float = 0
    neg: bool = False
    abs: bool = False
    sext: bool = False


class AsmInst(Struct, frozen=True):
    """One instruction of the text.

    Attributes:
        mnemonic: without encoding suffix; with `v_dual_` for the halves of a VOPD pair.
        operands: as written, in order, without spaces around them.
        modifiers: `offset:16` -> {"offset": "16"}, `clamp` -> {"clamp": ""}; counters of s_waitcnt and
            fields of s_delay_alu are here too.
        line: line in the text, from 1.
        half2: the second half of a VOPD pair.
        encoding: "e32", "e64", "dpp", "e64_dpp", or "" where the text does not say.
        align: the binary has `s_nop 0` before this instruction up to an address divisible by 2**align.
        target: for a branch, the index in `AsmKernel.insts` of the instruction it leads to; it is
            len(insts) for a label after the last one.
    """

    mnemonic: str
    operands: tuple[str, ...]
    modifiers: dict[str, str]
    line: int
    half2: AsmInst | None = None
    encoding: str = ""
    align: int = 0
    target: int | None = None

    @property
    def normal(self) -> tuple[Operand, ...]:
        """The operands, normalised."""
        return tuple(parse_operand(o) for o in self.operands)


class AsmKernel(Struct):
    """The instructions of one function (kernel or device function), in order of address."""

    name: str
    is_kernel: bool = False
    insts: list[AsmInst] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


def parse_asm(text: str) -> dict[str, AsmKernel]:
    """All functions of an assembly file, by symbol, in order.

    Raises:
        AsmSyntax: at a line that is neither directive, label nor instruction, or a branch to nowhere.
    """
    kernels: dict[str, AsmKernel] = {}
    functions = set(re.findall(r"^\s*\.type\s+([^,\s]+),@function", text, re.MULTILINE))
    current: AsmKernel | None = None
    in_text, align = True, 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = _strip_comment(raw).strip()
        while (match := _LABEL.match(line)) and not line.startswith(".amdhsa"):
            label, line = match[1].strip('"'), line[match.end() :].strip()
            if label in functions:
                current = kernels[label] = AsmKernel(label)
                align = 0
            elif current is not None and in_text:
                current.labels[label] = len(current.insts)
                if label.startswith(".Lfunc_end"):
                    current = None
        if line.startswith("."):
            words = line.split(None, 1)
            if words[0] in (".text", ".section"):
                in_text = words[0] == ".text" or words[1].startswith(".text")
            elif words[0] == ".p2align" and in_text:
                align = max(align, int(words[1].split(",")[0]))
            elif words[0] == ".amdhsa_kernel" and words[1] in kernels:
                kernels[words[1]].is_kernel = True
        elif line and current is not None and in_text:
            current.insts.append(parse_line(line, number, align))
            align = 0
    for kernel in kernels.values():
        _resolve(kernel)
    return kernels


def parse_line(line: str, number: int = 0, align: int = 0) -> AsmInst:
    """One instruction, without comment and label; `::` separates the halves of a VOPD pair.

    Raises:
        AsmSyntax: if it is none.
    """
    first, *rest = (part.strip() for part in line.split("::"))
    if len(rest) > 1:
        raise AsmSyntax(f"line {number}: {line!r}")
    half2 = _instruction(rest[0], number, None, 0) if rest else None
    return _instruction(first, number, half2, align)


@cache
def parse_operand(text: str) -> Operand:
    """`-|v1.h|`, `s[2:3]`, `vcc_lo`, `0x7f800000`, `-4`, `0.5`, `.LBB0_2`: normalised."""
    neg = absolute = sext = False
    inner = text.strip()
    while True:
        if inner.startswith("neg(") and inner.endswith(")"):
            neg, inner = True, inner[4:-1]
        elif inner.startswith("sext(") and inner.endswith(")"):
            sext, inner = True, inner[5:-1]
        elif inner.startswith("abs(") and inner.endswith(")"):
            absolute, inner = True, inner[4:-1]
        elif inner.startswith("|") and inner.endswith("|") and len(inner) > 2:
            absolute, inner = True, inner[1:-1]
        elif inner.startswith("-") and not inner[1:2].isdigit():
            neg, inner = True, inner[1:]
        else:
            break
    if match := _REGISTER.fullmatch(inner):
        kind = {"v": "vgpr", "s": "sgpr"}.get(match["file"], match["file"])
        index = int(match["one"] or match["first"])
        count = 1 if match["one"] else int(match["last"]) - index + 1
        return Operand(
            kind, match["file"], index, count, match["half"] or "", neg=neg, abs=absolute, sext=sext
        )
    if inner in _SPECIAL:
        return Operand("special", inner, neg=neg, abs=absolute)
    if _INTEGER.fullmatch(inner):
        return Operand("int", value=int(inner, 0), neg=neg, abs=absolute)
    if _FLOAT.fullmatch(inner):
        return Operand("float", value=float(inner), neg=neg, abs=absolute)
    if re.fullmatch(r"[.\w$@+-]+", inner):
        return Operand("label", inner, neg=neg, abs=absolute)
    return Operand("text", inner, neg=neg, abs=absolute)


def render(inst: AsmInst) -> str:
    """The instruction as text that assembles to the same bytes as the text it was parsed from."""
    name = inst.mnemonic + (f"_{inst.encoding}" if inst.encoding else "")
    if inst.mnemonic == "s_waitcnt":
        return f"{name} " + " ".join(f"{k}({v})" for k, v in inst.modifiers.items())
    if inst.mnemonic == "s_delay_alu":
        return f"{name} " + " | ".join(f"{k}({v})" for k, v in inst.modifiers.items())
    modifiers = [f"{k}:{v}" if v else k for k, v in inst.modifiers.items()]
    text = " ".join([name, ", ".join(inst.operands), *modifiers])
    return f"{text} :: {render(inst.half2)}" if inst.half2 else text


def _strip_comment(line: str) -> str:
    """Cut at the `;` that begins a comment; one inside a string stays."""
    if '"' not in line:
        return line.partition(";")[0].partition("//")[0]
    at, quoted = 0, False
    for at, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif not quoted and (char == ";" or line.startswith("//", at)):
            return line[:at]
    return line


def _instruction(text: str, number: int, half2: AsmInst | None, align: int) -> AsmInst:
    name, _, rest = text.partition(" ")
    name, rest = name.split("\t")[0], (rest or text[len(name) :]).strip()
    if not re.fullmatch(r"[a-z]\w*", name):
        raise AsmSyntax(f"line {number}: {text!r} begins with no mnemonic")
    match = _ENCODINGS.search(name)
    encoding = match[1] if match else ""
    mnemonic = name[: match.start()] if match else name
    if mnemonic in ("s_waitcnt", "s_delay_alu") and "(" in rest:
        return AsmInst(mnemonic, (), dict(_COUNTER.findall(rest)), number, half2, encoding, align)
    operands, modifiers = _operands(rest, number)
    return AsmInst(mnemonic, tuple(operands), modifiers, number, half2, encoding, align)


def _operands(rest: str, number: int) -> tuple[list[str], dict[str, str]]:
    """Split at commas outside of brackets; what follows the last operand after spaces are modifiers."""
    pieces = list(_split(rest, ","))
    words = list(_split(pieces.pop(), " ")) if pieces else []
    operands, modifiers = pieces, {}
    for word in words:
        flag = word in _FLAGS
        match = _MODIFIER.fullmatch(word)
        if flag or match:
            modifiers[word if flag or match is None else match[1]] = "" if flag or match is None else match[2]
        elif modifiers or len(operands) > len(pieces):
            raise AsmSyntax(f"line {number}: {word!r} is neither operand nor modifier in {rest!r}")
        else:
            operands = [*pieces, word]
    return operands, modifiers


def _split(text: str, separator: str) -> Iterator[str]:
    """Pieces of `text` between separators that stand outside of (), [] and quotes; empty ones left out."""
    if not any(char in text for char in '(["'):
        yield from filter(None, map(str.strip, text.split(separator)))
        return
    depth, quoted, start = 0, False, 0
    for at, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == separator and depth == 0:
            if text[start:at].strip():
                yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def _resolve(kernel: AsmKernel) -> None:
    """Fill in `target` of branches."""
    for at, inst in enumerate(kernel.insts):
        if inst.mnemonic.startswith(("s_branch", "s_cbranch")) and inst.operands[0].startswith("."):
            if inst.operands[0] not in kernel.labels:
                raise AsmSyntax(f"line {inst.line}: no label {inst.operands[0]} in {kernel.name}")
            kernel.insts[at] = replace(inst, target=kernel.labels[inst.operands[0]])
