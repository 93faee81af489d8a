"""One token for its like: an operator for another one, a function, type or constant for one of its family."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from msgspec.structs import replace

from layoutprobe.rewrites.omitted import sums_of
from layoutprobe.rewrites.spot import Rewrite, Spot
from layoutprobe.source.declarations import declared_in
from layoutprobe.source.statements import Source
from layoutprobe.source.tree import Node, template_end


def operators(spot: Spot) -> Iterator[Rewrite]:
    """One operator for another: < for <=, % for /, ^ for |; `& 3` for `>> 2`, and the reverse."""
    of_templates = set[int]()
    for i in spot.within:
        if spot.source.tokens[i].text == "<" and (end := template_end(spot.source, i)) is not None:
            of_templates |= {i, end}
        for text, rank in (
            _OTHER_OPERATORS.get(spot.source.tokens[i].text, ()) if i not in of_templates else ()
        ):
            joined = text == _JOINS.get(spot.source.tokens[i].text) and _are_bounds(spot, text)
            yield replace(spot.replace(i, i + 1, text, "operators"), rank=rank - _LIKELY * joined)
        if spot.source.tokens[i].text in (">>", "&") and i + 1 < spot.within.stop:
            for text in _other_part(spot.source.tokens[i].text, spot.source.tokens[i + 1].text):
                yield replace(spot.replace(i, i + 2, text, "operators"), rank=0.5)


_JOINS = {"&&": "||", "||": "&&"}


def _are_bounds(spot: Spot, joint: str) -> bool:
    """Whether all tests are of what should be joined so: outside of one bound or another, inside of all."""
    signs = (">", ">=") if joint == "||" else ("<", "<=")
    joined = next((node for node in spot.tree.walk() if node.kind in ("all", "any")), None)
    tests = joined.parts if joined is not None else ()
    plain = all(part.kind == "comparison" and len(part.parts) == 2 for part in tests)
    return bool(tests) and plain and all(spot.operator(part, 1) in signs for part in tests)


def _other_part(sign: str, number: str) -> Iterator[str]:
    """The lower bits for those above, and the reverse; nothing where a number is none of bits."""
    if not re.fullmatch(r"\d{1,5}u?", number):
        return
    value, suffix = int(number.rstrip("u")), "u" * number.endswith("u")
    if sign == ">>" and 0 < value <= _MOST_BITS:
        yield f"& {(1 << value) - 1}{suffix}"
    elif sign == "&" and value & (value + 1) == 0 and value:
        yield f">> {value.bit_length()}"
    elif sign == "&" and value & (value - 1) == 0 and value:
        yield from (f">> {value.bit_length() - 1}", f">> {value.bit_length() - 1} & 1")


_MOST_BITS = 8


_OTHER_OPERATORS = {
    "<": (("<=", 0.0), (">", 0.7)),
    "<=": (("<", 0.0), (">=", 0.9)),
    ">": ((">=", 0.0), ("<", 0.7)),
    ">=": ((">", 0.0), ("<=", 0.9)),
    "%": (("/", 0.5),),
    "/": (("%", 0.5),),
    "|": (("^", 0.5),),
    "^": (("|", 0.5), ("&", 1.5)),
    "+": (("-", 1.0), ("^", 2.0)),
    "-": (("+", 0.5),),
    "<<": ((">>", 1.0),),
    ">>": (("<<", 1.0),),
    "==": (("!=", 1.0),),
    "!=": (("==", 1.0),),
    "&&": (("||", 1.5),),
    "||": (("&&", 1.0),),
}
"""Of an operator those it is mistaken for, and how unlikely that is."""


def words(spot: Spot) -> Iterator[Rewrite]:
    """Another function, type or constant of one family: fmaxf for fminf, exp2f for expf, true for false; at last a
    loop for a branch."""
    tokens = spot.source.tokens
    for i in spot.within:
        for kin in _FAMILIES:
            of_declaration = tokens[i].text == "=" and i - 1 in declared_in(spot.source)
            if tokens[i].text in kin and not of_declaration:
                whole = tokens[i].text in _COORDINATES and tokens[i - 1].text in ("=", "+=")
                whole |= tokens[i].text in ("true", "false") and _of_builtin(spot.source, i)
                others = (text for text in kin if text != tokens[i].text)
                likely = (
                    f"{tokens[i].text}ll" in kin
                    or (tokens[i].text == "=" and _begins_with(spot, i, "1" if "*=" in kin else "0"))
                    or _may_be_negative(spot, i)
                    or tokens[i].text in _BYTES
                    or (tokens[i].text in ("signed", "unsigned") and spot.source.word(i + 1) == "char")
                )
                rank = -_LIKELY if likely else -_WHOLE * whole
                yield from (replace(spot.replace(i, i + 1, text, "words"), rank=rank) for text in others)
        if tokens[i].text == "char" and tokens[i - 1].text not in ("signed", "unsigned"):
            signs = ("unsigned char", "signed char")
            yield from (replace(spot.replace(i, i + 1, text, "words"), rank=-_LIKELY) for text in signs)
        yield from _of_other_types(spot, i)
        if tokens[i].text == "return" and spot.source.word(i + 1) == ";":  # in what a macro makes a loop, too
            yield replace(spot.replace(i, i + 1, "continue", "words"), rank=-_LIKELY)
    if tokens[spot.within.start].text == "if":
        yield spot.replace(spot.within.start, spot.within.start + 1, "while", "words")
    if tokens[spot.within.start].text == "for":
        yield from _longer_steps(spot)


def _longer_steps(spot: Spot) -> Iterator[Rewrite]:
    """`c += 2` for `++c`: a pass does two at once."""
    tokens = spot.source.tokens
    for i in range(spot.within.start, spot.within.stop - 2):
        pair = [tokens[i].text, tokens[i + 1].text]
        name = pair[1 - pair.index("++")] if "++" in pair else ""
        if name.isidentifier():
            for nth, step in enumerate((2, 4, 8)):
                yield replace(spot.replace(i, i + 2, f"{name} += {step}", "words"), rank=-0.2 + 0.1 * nth)


def reductions(spot: Spot) -> Iterator[Rewrite]:
    """`a + b` for `fmaxf(a, b)` and the reverse, where that is all that a function of two gives back."""
    text = spot.source.slice(spot.within.start, spot.within.stop)
    found = _OF_TWO.search(text)
    if found is None:
        return
    one, other = (found[2], found[3]) if found[1] else (found[4], found[5])
    start = spot.source.tokens[spot.within.start].start
    first, last = start + found.start() + len("return "), start + found.end()
    calls = ("fmaxf", "fminf", "max", "min")
    texts = [f"{one} + {other}", f"{one} * {other}", *(f"{call}({one}, {other})" for call in calls)]
    for nth, new in enumerate(texts):
        yield Rewrite(first, last, new, "reductions", 0.15 * nth)


_OF_TWO = re.compile(
    r"\breturn (?:(?:f?(max|min)f?)\(\s*(\w+), (\w+)\s*\)|(\w+) [+*] (\w+))(?=\s*(?:;|\}|$))"
)


def ranges(spot: Spot) -> Iterator[Rewrite]:
    """Both ends of what a type holds, of another type: -128 and 127 for 0 and 255."""
    start, stop = (spot.source.tokens[i] for i in (spot.within.start, spot.within.stop - 1))
    for found in _ENDS.finditer(spot.source.text[start.start : stop.end]):
        dot = found[2] or ""
        for nth, (low, high) in enumerate(_RANGES):
            text = f"{low}{dot}{found[3]}{high}{dot}"
            if text != found[0]:
                first = start.start + found.start()
                yield Rewrite(first, first + len(found[0]), text, "ranges", 0.2 * nth)


_RANGES = ((-128, 127), (0, 255), (-127, 127), (-8, 7), (0, 15), (-32768, 32767), (0, 65535))
_ENDS = re.compile(
    r"(?<![\w.])(-?(?:0|7|8|127|128|32767|32768))(\.0?f?)?(\)?, |\) ?, )"
    r"(?:7|15|127|255|32767|65535)(?:\.0?f?)?(?![\w.])"
)


def _of_other_types(spot: Spot, i: int) -> Iterator[Rewrite]:
    """An instruction that takes another type, `..._fp8_fp8` for `..._fp8_bf8`; bytes, or other elements, behind a
    pointer that is cast."""
    tokens, text = spot.source.tokens, spot.source.tokens[i].text
    if text.startswith("__builtin_amdgcn_"):
        for found in re.finditer(r"_(fp8|bf8|f16|bf16)(?=_|$)", text):
            other = f"{text[: found.start()]}_{_TWINS[found[1]]}{text[found.end() :]}"
            yield replace(spot.replace(i, i + 1, other, "words"), rank=-_LIKELY)
    around = [tokens[at].text for at in range(i - 1, min(i + 3, spot.within.stop)) if at >= 0]
    if tokens[i].kind == "name" and around[:1] + around[2:] in _CASTS:
        others = (one for one in ("char", "float", "int", "_Float16") if one != text)
        for one in others:  # a stride in bytes is what is most often forgotten
            yield replace(spot.replace(i, i + 1, one, "words"), rank=-_LIKELY if one == "char" else 0.3)


_CASTS = [[before, "*", behind] for before in ("<", "(", "const") for behind in (">", ")")]
_TWINS = {"fp8": "bf8", "bf8": "fp8", "f16": "bf16", "bf16": "f16"}


def types(spot: Spot) -> Iterator[Rewrite]:
    """Another type of a sum: `T sum = 0` and `float sum = 0` for `int sum = 0`; of what is no whole number; and
    another real type that the file has, of a name that keeps a real number."""
    tokens, sums = spot.source.tokens, set(sums_of(spot))
    if tokens[spot.within.start].text == "using" and _NARROW.search(spot.text(spot.tree)):
        first = spot.within.start + len(("using", "T", "="))
        for nth, text in enumerate(("int", "unsigned", "float")):
            yield replace(spot.replace(first, spot.within.stop, text, "types"), rank=0.2 * nth)
    for piece in spot.pieces:
        assigned = spot.assignment(piece)
        name = assigned[1].last - 1 if assigned is not None else 0
        if (
            assigned is not None
            and name in declared_in(spot.source)
            and tokens[name - 1].text in _WHOLE_NUMBERS
        ):
            late = _is_real(spot, tokens[name].text, assigned[2])
            if late is not None:
                yield replace(spot.replace(name - 1, name, "float", "types"), rank=late)
    head = spot.source.slice(spot.function.start, min(spot.function.start + _HEAD, spot.function.stop))
    given = re.findall(r"\b(?:typename|class) (\w+)", head)
    for i in (i for i in spot.within[1:] if i in declared_in(spot.source)):
        own = tokens[i - 1].text
        if tokens[i].text in sums and own in _NUMBERS:
            others = [text for text in (*given, *_NUMBERS) if text != own]
            yield from (spot.replace(i - 1, i, text, "types") for text in others)
        if own in ("int", "unsigned") and tokens[i + 1].text == "=":
            wide = (_wide_of(one, signed=own == "int") for one in (spot.source, *spot.others))
            for text in dict.fromkeys(chain.from_iterable(wide)):
                yield replace(spot.replace(i - 1, i, text, "types"), rank=0.5)
        if own in _REALS and tokens[i + 1].text in _KEEPS:
            known = _reals_of(spot.source)
            others = [text for text in _REALS if text in known and text != own]
            yield from (replace(spot.replace(i - 1, i, text, "types"), rank=0.4) for text in others)


@lru_cache(maxsize=32)
def _reals_of(source: Source) -> frozenset[str]:
    """Real types that a file names."""
    return frozenset(token.text for token in source.tokens if token.text in _REALS)


@lru_cache(maxsize=32)
def _wide_of(source: Source, *, signed: bool) -> Sequence[str]:
    """Integers of 64 bits as a file calls them, those first that have a sign, or none, as is asked."""
    found = re.findall(r"\btypedef\s+((?:[\w:]+\s+)*(?:long|u?int64_t))\s+(\w+)\s*;", source.text)
    found += [
        (what, name)
        for name, what in re.findall(r"\busing\s+(\w+)\s*=\s*([\w: ]*(?:long|int64_t))\s*;", source.text)
    ]
    names = [(name, "u" not in what.replace("using", "")) for what, name in found]
    names += [(word, word[0] != "u") for word in ("int64_t", "uint64_t") if word in source.text]
    names += [("long long", True), ("unsigned long long", False)] if "long long" in source.text else []
    return list(dict.fromkeys(name for name, has in sorted(names, key=lambda one: one[1] != signed)))[:2]


_NARROW = re.compile(r"=\s*(?:(?:un)?signed char|char|u?int(?:8|16)_t|(?:unsigned )?short)$")
_REALS = ("double", "float", "_Float16", "__bf16")
_KEEPS = ("=", "[", "{")
"""Behind a name that keeps something, or an array of it."""


def _is_real(spot: Spot, name: str, value: Node) -> float | None:
    """How unlikely it is that a name with this value is no whole number: it is none, or later an
    array's element. None where nothing says so."""
    words = spot.source.tokens[value.first : value.last]
    real = any(_REAL.fullmatch(word.text) for word in words) or "real" in spot.sorts(value)
    of_array = value.kind == "leaf" and bool(value.parts) and value.parts[-1].kind == "index"
    real |= of_array and spot.scope.elements.get(words[0].text) == "real"
    if real and value.kind not in ("comparison", "all", "any"):
        return -0.6
    if value.kind in ("sum", "product") and any(spot.scope.elements.get(one.text) == "real" for one in words):
        return -0.6
    given = {one.sort for one in spot.scope.operands if value.first <= one.first < value.last}
    if "real" in given and value.kind == "leaf":  # of a call
        return -0.6 if words[0].text.startswith("__shfl") else 0.3
    later = rf"\b{re.escape(name)} = [^;]{{0,80}}\["
    return 0.4 if spot.text(value) == "0" and re.search(later, spot.body) else None


_WHOLE_NUMBERS = ("int", "unsigned", "long", "int32_t", "uint32_t")
_REAL = re.compile(r"\d+\.\d*f?|\.\d+f?")
_HEAD = 40
"""Words of a function that say what a template is of."""
_NUMBERS = ("float", "double", "int", "_Float16")


def _begins_with(spot: Spot, i: int, number: str) -> bool:
    """Whether what is assigned to is set to zeros, or ones, elsewhere in the file: it may be a sum, or a product."""
    tokens, first = spot.source.tokens, i
    while first and tokens[first - 1].text in ("]", ")"):
        first = spot.source.partner.get(first - 1, 0)
    name = re.escape(tokens[first - 1].text)
    begins = (
        rf"\b{name}\b[\w\[\] ]{{0,40}}= *(?:[A-Za-z_]\w*(?:\(\))? *)?"
        rf"(?:\{{[{number}.f, ]*\}}|{number}(?:\.0*f?)? *[;,])"
    )
    return first < i and re.search(begins, spot.source.text) is not None


def _may_be_negative(spot: Spot, i: int) -> bool:
    """Whether a word has a difference be unsigned: `const unsigned q = code - zero`."""
    if spot.source.tokens[i].text not in _UNSIGNED or i + 1 not in declared_in(spot.source):
        return False
    return any(
        piece.kind == "assignment"
        and piece.parts[-1].kind == "sum"
        and spot.operator(piece.parts[-1], len(piece.parts[-1].parts) - 1) == "-"
        and spot.source.tokens[piece.parts[-1].last - 1].kind == "name"
        for piece in spot.pieces
    )


_BYTES = ("int8_t", "uint8_t", "i8", "u8")
_UNSIGNED = ("unsigned", "uint8_t", "uint16_t", "uint32_t")
_LIKELY = 2.0
"""How much likelier something is added to what begins with zeros, and a difference has a sign."""


def _of_builtin(source: Source, i: int) -> bool:
    """Whether a word is an argument of one of the compiler's functions: of matrix instructions it is a sign."""
    opened = source.parent[i]
    return opened > 0 and source.tokens[opened - 1].text.startswith("__builtin_amdgcn_")


_COORDINATES = ("blockDim", "gridDim", "threadIdx", "blockIdx")
_WHOLE = 1.5
"""How much likelier one of these is taken for its like where a loop begins or goes on by it alone, and a sign for the
other one."""
_FAMILIES = tuple(
    tuple(line.split())
    for line in (
        "threadIdx blockIdx",
        "blockDim gridDim",
        "true false",
        "fmaxf fminf",
        "max min",
        "expf exp2f __expf",
        "logf log2f __logf",
        "rsqrtf sqrtf",
        "floorf ceilf roundf rintf truncf",
        "_Float16 __bf16 float",
        "f16 bf16",
        "int unsigned",
        "signed unsigned",
        "int8_t uint8_t",
        "i8 u8",
        "int16_t uint16_t",
        "int32_t uint32_t",
        "__low2float __high2float",
        "FLT_MAX -FLT_MAX FLT_MIN",
        "INT_MAX INT_MIN",
        "INFINITY 0.0f",
        "0.0f 1.0f",
        "0.f 1.f",
        "__shfl_xor __shfl_down __shfl_up __shfl",
        "__popc __popcll",
        "__ffs __ffsll",
        "__clz __clzll",
        "__brev __brevll",
        "__builtin_popcount __builtin_popcountll",
        "+= =",
        "-= +=",
        "= *=",
        "continue break",
    )
)
"""Words that stand for each other by mistake."""
