"""The names that a statement of a function may use, and of which sort they are, as far as their declarations tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from layoutprobe.codegen.enumerations import enumerations
from layoutprobe.codegen.statements import Source, words
from layoutprobe.codegen.tree import template_end

_INTEGERS = re.compile(
    r"(u?int|size_t|ptrdiff_t|unsigned|signed|long|short|char|uint|ushort|uchar|[iu](8|16|32|64)|u?int\d+_t)"
)
_REALS = re.compile(
    r"(float|double|half|_Float16|__half|__bf16|bf16|f16|f32|__hip_bfloat16|hip_bfloat16|__nv_bfloat16)"
)
_WORDS = frozenset(
    [
        "return",
        "else",
        "case",
        "goto",
        "new",
        "delete",
        "throw",
        "using",
        "namespace",
        "typedef",
        "if",
        "for",
        "while",
        "do",
        "switch",
        "break",
        "continue",
        "sizeof",
        "template",
        "typename",
        "class",
        "struct",
        "enum",
        "union",
        "public",
        "private",
        "extern",
        "static_assert",
        "operator",
        "asm",
        "__asm__",
        "volatile",
        "true",
        "false",
        "nullptr",
        "this",
        "INFINITY",
        "NAN",
        "static",
        "const",
        "constexpr",
    ]
)
BUILTIN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n\\]+)$", re.MULTILINE)
_IF = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[ \t]+([^\n]{1,400})", re.MULTILINE)


class Operand(Struct, frozen=True):
    """A name with what it is a member of: `a.S`, `threadIdx.x`, `K`.

    Attributes:
        first, last: its tokens, the last one excluded.
        text: as it is written.
        sort: "integer", "real", "pointer", "function", or its type; "" where nothing tells.
    """

    first: int
    last: int
    text: str
    sort: str


class Scope(Struct, frozen=True):
    """What a function knows.

    Attributes:
        ranges: where in it each name is known, and its sort, by its declarations.
        operands: all that stand in it, in order.
        unused: names that are declared and never used.
        fields: of each structure, with their sorts.
        outside: constants outside of functions, and how often each stands in the file.
        own: what the structure holds that the function is a member of, with sorts.
        elements: of arrays and pointers that are known, the sort of what they hold.
    """

    ranges: tuple[tuple[str, range, str], ...]
    operands: tuple[Operand, ...]
    unused: frozenset[str]
    fields: Mapping[str, Mapping[str, str]]
    outside: Mapping[str, int]
    own: Mapping[str, str]
    elements: Mapping[str, str]

    def at(self, index: int) -> dict[str, str]:
        """Names that are known at a token, with their sorts."""
        return {name: sort for name, where, sort in self.ranges if index in where}


Outer = tuple[tuple[str, str], ...]
"""Names with their sorts that a body of a macro knows where it is used."""


@lru_cache(maxsize=32)
def scope(source: Source, start: int, stop: int, outer: Outer = ()) -> Scope:
    """Of the function at some tokens."""
    function = range(start, stop)
    inside = [(i, sort) for i, sort in declarations(source) if i in function]
    outside = _defined(source)
    outside |= {name: "integer" for one in enumerations(source) if not one.scoped for name in one.constants}
    outside |= {source.tokens[i].text: sort for i, sort in declarations(source) if _is_outside(source, i)}
    fields = _fields(source)
    holds = _own(source, start, fields)
    found = [(name, function, sort) for name, sort in {**dict(outer), **outside, **holds}.items()]
    found += [(source.tokens[i].text, _known(source, i, stop), sort) for i, sort in inside]
    members = {name: sort for of_one in fields.values() for name, sort in of_one.items()}
    own = Counter(source.tokens[i].text for i in function if source.tokens[i - 1].text not in (".", "->"))
    everywhere, names = _words(source), {source.tokens[i].text for i, _ in inside}
    once = {name for name, *_ in found if (own if name in names else everywhere)[name] == 1}
    unused = frozenset(once - _of_macros(source))
    operands = tuple(_operands(source, function, {name: sort for name, _, sort in found}, members))
    constants = {name: everywhere[name] for name in outside}
    return Scope(tuple(found), operands, unused, fields, constants, holds, _elements(source))


@lru_cache(maxsize=32)
def _fields(source: Source) -> Mapping[str, Mapping[str, str]]:
    """Structures and what they hold."""
    found: dict[str, dict[str, str]] = {}
    for i, sort in declarations(source):
        name = _structure(source, source.parent[i])
        if name:
            found.setdefault(name, {})[source.tokens[i].text] = sort
    return found


def _structure(source: Source, brace: int) -> str:
    """Name of the structure whose body begins with a brace: `struct Tile {`, `struct row<1> {`; "" for none."""
    if brace <= 0 or source.tokens[brace].text != "{":
        return ""
    i = brace - 1
    if source.tokens[i].text == ">":
        i = next((j for j in range(i - 1, max(i - _ARGUMENTS, 0), -1) if source.tokens[j].text == "<"), 0) - 1
    named = i > 0 and source.tokens[i].kind == "name" and source.tokens[i].text not in _NO_STRUCTURES
    return source.tokens[i].text if named and not is_headed(source, brace) else ""


_ARGUMENTS = 12
_NO_STRUCTURES = ("else", "do")


def _own(source: Source, start: int, fields: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """What a function may use as it is a member of a structure."""
    found, brace = dict[str, str](), source.parent[start] if start < len(source.parent) else -1
    while brace > 0:
        found = {**fields.get(_structure(source, brace), {}), **found}
        brace = source.parent[brace]
    return found


@lru_cache(maxsize=32)
def _elements(source: Source) -> Mapping[str, str]:
    """Arrays and pointers that are declared somewhere in a file, and the sort of what they hold."""
    found, held = dict[str, str](), ""
    for i, sort in declarations(source):
        begin = i
        while sort == "pointer" and begin and source.tokens[begin - 1].text not in _BEFORE_TYPES:
            begin -= 1
        if sort == "pointer":
            written = [token.text for token in source.tokens[begin:i] if token.text != "*"]
            held = _sort(written) if written else held  # beside another one
            found.setdefault(source.tokens[i].text, held)
    return found


_BEFORE_TYPES = ("(", ")", ",", ";", "{", "}", "<", "=")


def _known(source: Source, i: int, stop: int) -> range:
    """Where a name is known that a token declares: to the end of its block, or of the loop."""
    opened = source.parent[i]
    if opened < 0 or opened not in source.partner:
        return range(i + 1, stop)
    close = source.partner[opened]
    if source.tokens[opened].text != "(":
        return range(i + 1, close)
    after = min(close + 1, len(source.tokens) - 1)
    if source.tokens[after].text == "{" and after in source.partner:
        return range(i + 1, source.partner[after])
    return (
        range(i + 1, source.around(after).stop)
        if source.tokens[opened - 1].text == "for"
        else range(i + 1, stop)
    )


@lru_cache(maxsize=32)
def _words(source: Source) -> Counter[str]:
    """How often each word stands in a file; in what is defined as macros, too."""
    return Counter(words(source.text))


@lru_cache(maxsize=32)
def idle(source: Source) -> frozenset[str]:
    """Members of structures that stand nowhere but where they are declared."""
    often = Counter(token.text for token in source.tokens)
    members = {member for of_one in _fields(source).values() for member in of_one}
    return frozenset(name for name in members if often[name] == 1) - _of_macros(source)


@lru_cache(maxsize=32)
def _of_macros(source: Source) -> frozenset[str]:
    """Words of what macros stand for: a function may use them by a macro's name. A macro's own name is none."""
    bodies = re.findall(
        r"^[ \t]*#[ \t]*define[ \t]+\w+((?:[^\n\\]|\\.)*)", source.text, re.MULTILINE | re.DOTALL
    )
    return frozenset(word for body in bodies for word in words(body))


def _is_outside(source: Source, i: int) -> bool:
    """A constant or variable outside of functions and structures; a template's parameter."""
    brace = source.parent[i]
    while brace >= 0 and source.tokens[brace].text == "{":
        words = [token.text for token in source.tokens[max(brace - 2, 0) : brace]]
        if "namespace" not in words and not (brace and source.tokens[brace - 1].kind == "text"):
            return False
        brace = source.parent[brace]
    return brace < 0


def _defined(source: Source) -> dict[str, str]:
    """Numbers that are macros, and what is made of such alone; none that parts of the code are chosen by."""
    found = dict[str, str]()
    chosen = {word for text in _IF.findall(source.text) for word in words(text)}
    for name, value in _DEFINE.findall(source.text):
        if name in chosen:
            continue
        made = {found.get(word, "") for word in words(value.split("//")[0])}
        if re.search(r"\d", value):
            found[name] = "real" if re.search(r"\d\.\d*|\df\b|INFINITY|FLT_", value) else "integer"
        elif made and "" not in made:
            found[name] = "real" if "real" in made else "integer"
    return found


@lru_cache(maxsize=32)
def declarations(source: Source) -> tuple[tuple[int, str], ...]:
    """Tokens that declare a name, and its sort."""
    return tuple(_declarations(source))


@lru_cache(maxsize=32)
def declared_in(source: Source) -> frozenset[int]:
    """Tokens that declare a name."""
    return frozenset(i for i, _ in declarations(source))


def _declarations(source: Source) -> Iterator[tuple[int, str]]:
    tokens, begin = source.tokens, 0
    sort = ""  # of what is declared together, without what makes one of them a pointer
    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else ";"
        brace = before in ("{", "}") and not _is_value(source, i - 1)
        begins = before == ";" or brace or (before == ")" and _ends_head(source, i - 1))
        if begins or (before in _OPENS and _holds_declarations(source, i)):
            begin, sort = i, ""
        if token.kind != "name" or token.text in _WORDS or i + 1 >= len(tokens):
            continue
        follows = tokens[i + 1].text
        comma = tokens[i - 2].text if before in ("*", "&") and i > 1 else before
        beside = sort and comma == "," and source.parent[i] == source.parent[begin]
        built = follows == "(" and _is_constructed(source, i + 1)
        if beside and (follows in ("=", ",", ";", "[", "{") or built):
            yield i, "pointer" if follows == "[" or before == "*" else sort
        elif i > begin and before != "::" and (follows in _BEHIND_NAMES or built):
            written = [tokens[j].text for j in range(begin, i)]
            if _is_type(source, begin, i):
                of_lambda = follows == "=" and i + 2 < len(tokens) and tokens[i + 2].text == "["
                pointer = follows == "[" or "*" in written
                plain = _sort([word for word in written if word != "*"])
                sort = FUNCTION if of_lambda else _aliases(source).get(plain, plain)
                yield i, "pointer" if pointer and not of_lambda else sort


_BEHIND_NAMES = ("=", ";", ",", ")", "[", ":", "{", ">")
FUNCTION = "function"
"""The sort of a name that stands for a lambda."""
_OPENS = ("(", ",", "<")


def _is_value(source: Source, brace: int) -> bool:
    """Whether a brace is one of `= {0, 0}` or `View a{p, k}`: names that are declared beside it have its type."""
    opened = brace if source.tokens[brace].text == "{" else source.partner.get(brace, 0)
    if opened <= 0 or source.is_block(opened):
        return False
    close = source.partner.get(opened, opened)
    beside = source.tokens[opened - 1].kind == "name" and source.tokens[close + 1 : close + 2]
    return source.tokens[opened - 1].text in ("=", ",", "(", "return") or bool(
        beside and beside[0].text == ","
    )


def _is_constructed(source: Source, opened: int) -> bool:
    """Whether a bracket behind a name may hold what a variable of a function is made of: `View a(p, k);`."""
    close = source.partner.get(opened, len(source.tokens))
    ends = close + 1 < len(source.tokens) and source.tokens[close + 1].text in (";", ",")
    brace = source.parent[opened] if ends and close > opened + 1 else -1
    while brace > 0 and source.tokens[brace].text == "{" and not _structure(source, brace):
        if is_headed(source, brace):
            return True
        brace = source.parent[brace]
    return False


def is_headed(source: Source, brace: int) -> bool:
    """Whether a block has a head with brackets: `load(int k) const {`, `[&](int k) -> float {`, `for (...) {`."""
    texts = [token.text for token in source.tokens[max(brace - _LONGEST_RESULT, 0) : brace]]
    if texts[-1:] and texts[-1] in _BEFORE_BODY:
        return True
    returns = len(texts) - 1 - texts[::-1].index("->") if "->" in texts else 0
    return returns > 0 and texts[returns - 1] in _BEFORE_BODY and not {";", "{", "}"} & {*texts[returns:]}


_BEFORE_BODY = (")", "const", "noexcept", "mutable", "override")
"""What may stand between the parameters of a function and its body."""
_LONGEST_RESULT = 12
"""Words of the type behind `->`, with it and what stands before."""


def _ends_head(source: Source, close: int) -> bool:
    """Whether a statement or declaration goes on behind a bracket, which is no part of an expression."""
    opened = source.partner.get(close, 0)
    return opened > 0 and source.tokens[opened - 1].text in _HEADS


_HEADS = ("if", "for", "while", "switch", "__attribute__", "__launch_bounds__", "alignas", "__align__")


def _holds_declarations(source: Source, i: int) -> bool:
    """Parameters of a function or template, and what a loop begins with: behind a comma it goes on there."""
    opened = source.parent[i]
    if opened > 0 and source.tokens[i - 1].text == "," and source.tokens[opened - 1].text == "for":
        return False
    if opened < 0 or source.tokens[opened].text != "(" or source.tokens[i - 1].text == "<":
        return _is_parameter_of_template(source, i)
    close = source.partner.get(opened, len(source.tokens))
    follows = source.tokens[close + 1].text if close + 1 < len(source.tokens) else ""
    return follows in _BEHIND_PARAMETERS or (opened > 0 and source.tokens[opened - 1].text == "for")


def _is_parameter_of_template(source: Source, i: int) -> bool:
    """Whether a token begins one, of a structure's or function's: behind `template <`, or a comma there."""
    opened = 0
    for j in range(i - 1, max(i - _LONGEST_TEMPLATE, 0) - 1, -1):
        text = source.tokens[j].text
        if text in (";", "{", "}"):
            return False
        if text == "template":
            return opened == 1
        opened += (text == "<") - (text == ">")
    return False


_LONGEST_TEMPLATE = 60
_BEHIND_PARAMETERS = ("{", "->", "const", "mutable", "noexcept", "override", ":")
"""What may follow them: of a constructor, what its members begin with."""


def _is_type(source: Source, first: int, last: int) -> bool:
    """Whether what stands before a name may be its type."""
    tokens, i = source.tokens, first
    names = 0
    while i < last:
        text = tokens[i].text
        end = template_end(source, i) if text == "<" else None
        if end is not None and end < last:
            i = end + 1
            continue
        if tokens[i].kind == "name" and (
            text not in _WORDS or text in ("static", "const", "constexpr", "struct", "volatile")
        ):
            names += text not in ("static", "const", "constexpr", "volatile")
        elif text not in ("*", "&", "::"):
            return False
        i += 1
    return names > 0 and tokens[first].kind == "name"


def sort_of(source: Source, first: int, last: int) -> str:
    """Of a type as it is written."""
    sort = _sort([source.tokens[i].text for i in range(first, last)])
    return _aliases(source).get(sort, sort)


@lru_cache(maxsize=32)
def _aliases(source: Source) -> Mapping[str, str]:
    """Types that are other names of a number's: `using index_t = int;`."""
    found = {name: _sort(words(type_)) for name, type_ in _USING.findall(source.text)}
    found |= {name: _sort(words(type_)) for type_, name in _TYPEDEF.findall(source.text)}
    return {name: sort for name, sort in found.items() if sort in ("integer", "real")}


_USING = re.compile(r"\busing\s+(\w+)\s*=\s*([\w\s:]{1,60});")
_TYPEDEF = re.compile(r"\btypedef\s+([\w\s:]{1,60}?)\s+(\w+)\s*;")


def _sort(written: list[str]) -> str:
    words = [
        text
        for text in written
        if text not in ("static", "const", "constexpr", "volatile", "__shared__", "__restrict__", "&")
    ]
    if any(_INTEGERS.fullmatch(text) for text in words):
        return "integer"
    if any(_REALS.fullmatch(text) for text in words):
        return "real"
    return "" if words == ["auto"] else " ".join(words)


def _operands(
    source: Source, within: range, sorts: dict[str, str], members: dict[str, str]
) -> Iterator[Operand]:
    tokens = source.tokens
    named = declared_in(source)
    i = within.start
    while i < within.stop:
        last = i + 1
        scoped = _scoped(source, i, within.stop) if tokens[i].kind == "name" else i
        if scoped > i + 1:
            tail = tokens[scoped - 1].text
            known = members.get(tail) or sorts.get(tail)
            if known in ("integer", "real"):
                yield Operand(i, scoped, source.slice(i, scoped), known)
                i = scoped
                continue
        if tokens[i].kind == "name" and (not i or tokens[i - 1].text not in (".", "->", "::")):
            while (
                last + 1 < within.stop
                and tokens[last].text in (".", "->")
                and tokens[last + 1].kind == "name"
            ):
                last += 2
            follows = tokens[last].text if last < len(tokens) else ""
            called = follows in ("(", "::") or (follows == "<" and template_end(source, last) is not None)
            if follows == "(" and last > i + 1:  # a function of what stands before it
                last, called = last - 2, False
            head, tail = tokens[i].text, tokens[last - 1].text
            known = (
                sorts.get(head) if last == i + 1 else "integer" if head in BUILTIN else members.get(tail, "")
            )
            if not called and known is not None and head not in _WORDS:
                yield Operand(i, last, source.slice(i, last), "" if i in named and last == i + 1 else known)
        i = last


def _scoped(source: Source, i: int, stop: int) -> int:
    """Where a constant ends that has names of what it is in before it, `P::FN`; the name's own token for none."""
    tokens, last = source.tokens, i + 1
    if i and tokens[i - 1].text in (".", "->", "::"):
        return i
    while last + 1 < stop and tokens[last].text == "::" and tokens[last + 1].kind == "name":
        last += 2
    follows = tokens[last].text if last < len(tokens) else ""
    called = follows in ("(", "{", "::") or (follows == "<" and template_end(source, last) is not None)
    names = called or (last < len(tokens) and tokens[last].kind == "name")  # a type
    return i if last == i + 1 or names else last
