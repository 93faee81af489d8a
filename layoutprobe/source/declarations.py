"""Where a text declares names, and of which sort each is, as far as its type tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from layoutprobe.source.statements import Source, words
from layoutprobe.source.tree import template_end

_INTEGERS = re.compile(
    r"(u?int|size_t|ptrdiff_t|unsigned|signed|long|short|char|uint|ushort|uchar|[iu](8|16|32|64)|u?int\d+_t)"
)
_REALS = re.compile(
    r"(float|double|half|_Float16|__half|__bf16|bf16|f16|f32|__hip_bfloat16|hip_bfloat16|__nv_bfloat16)"
)
KEYWORDS = frozenset(
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
"""Words that name nothing."""


@lru_cache(maxsize=32)
def declarations(source: Source) -> tuple[tuple[int, str], ...]:
    """Tokens that declare a name, and its sort."""
    return tuple(_declarations(source))


@lru_cache(maxsize=32)
def declared_in(source: Source) -> frozenset[int]:
    """Tokens that declare a name."""
    return frozenset(i for i, _ in declarations(source))


@lru_cache(maxsize=32)
def lambda_heads(source: Source) -> tuple[tuple[int, int], ...]:
    """First and last token of what stands before each lambda's body: its captures and parameters."""
    return tuple(_lambda_heads(source))


def _lambda_heads(source: Source) -> Iterator[tuple[int, int]]:
    tokens = source.tokens
    for i, token in enumerate(tokens):
        closed = source.partner.get(i) if token.text == "[" and i else None
        if closed is None or tokens[i - 1].kind != "sign" or tokens[i - 1].text in ("]", ")", ">"):
            continue
        last = source.partner.get(closed + 1, closed) if source.word(closed + 1) == "(" else closed
        body = next(
            (j for j in range(last + 1, min(last + _TAIL, len(tokens))) if tokens[j].text == "{"), None
        )
        if body is not None and source.is_block(body):
            yield i, last


_TAIL = 6
"""Words between a lambda's parameters and its body: `mutable`, `-> float`."""


def _declarations(source: Source) -> Iterator[tuple[int, str]]:
    tokens, begin = source.tokens, 0
    sort = ""  # of what is declared together, without what makes one of them a pointer
    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else ";"
        brace = before in ("{", "}") and not _is_value(source, i - 1)
        begins = before == ";" or brace or (before == ")" and _ends_head(source, i - 1))
        begins |= before == ":" and i > 1 and tokens[i - 2].text in _ACCESS
        if begins or (before in _OPENS and _holds_declarations(source, i)):
            begin, sort = i, ""
        if token.kind != "name" or token.text in KEYWORDS or i + 1 >= len(tokens):
            continue
        if before in ("[", ",") and _is_bound(source, source.parent[i]):
            yield i, ""
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
                plain = sort_of_words([word for word in written if word != "*"])
                sort = FUNCTION if of_lambda else _aliases(source).get(plain, plain)
                yield i, "pointer" if pointer and not of_lambda else sort


def _is_bound(source: Source, opened: int) -> bool:
    """Whether a bracket holds names for the parts of a value: `const auto [weight, shrink] = ...`."""
    before = [token.text for token in source.tokens[max(opened - 2, 0) : max(opened, 0)]]
    behind_auto = before[-1:] == ["auto"] or (before[:1] == ["auto"] and before[-1] in ("&", "&&"))
    return behind_auto and source.tokens[opened].text == "["


_ACCESS = ("public", "protected", "private")
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
    while brace > 0 and source.tokens[brace].text == "{" and not structure_of(source, brace):
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


QUALIFIERS = ("const", "noexcept", "mutable", "override")
_BEFORE_BODY = (")", *QUALIFIERS)
"""What may stand between the parameters of a function and its body."""
_LONGEST_RESULT = 12
"""Words of the type behind `->`, with it and what stands before."""


@lru_cache(maxsize=32)
def attributes(source: Source) -> frozenset[int]:
    """Tokens of what tells the compiler something of a type or function: `__attribute__((...))`."""
    named = (i for i, token in enumerate(source.tokens) if token.text in _ATTRIBUTES)
    return frozenset(j for i in named for j in range(i, source.partner.get(i + 1, i) + 1))


_ATTRIBUTES = ("__attribute__", "__launch_bounds__", "alignas", "__align__")


def _ends_head(source: Source, close: int) -> bool:
    """Whether a statement or declaration goes on behind a bracket, which is no part of an expression."""
    opened = source.partner.get(close, 0)
    return opened > 0 and source.tokens[opened - 1].text in _HEADS


_HEADS = ("if", "for", "while", "switch", *_ATTRIBUTES)


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
            text not in KEYWORDS or text in ("static", "const", "constexpr", "struct", "volatile")
        ):
            names += text not in ("static", "const", "constexpr", "volatile")
        elif text not in ("*", "&", "::"):
            return False
        i += 1
    return names > 0 and tokens[first].kind == "name"


def sort_of(source: Source, first: int, last: int) -> str:
    """Of a type as it is written."""
    sort = sort_of_words([source.tokens[i].text for i in range(first, last)])
    return _aliases(source).get(sort, sort)


@lru_cache(maxsize=32)
def _aliases(source: Source) -> Mapping[str, str]:
    """Types that are other names of a number's: `using index_t = int;`."""
    found = {name: sort_of_words(words(type_)) for name, type_ in _USING.findall(source.text)}
    found |= {name: sort_of_words(words(type_)) for type_, name in _TYPEDEF.findall(source.text)}
    return {name: sort for name, sort in found.items() if sort in ("integer", "real")}


_USING = re.compile(r"\busing\s+(\w+)\s*=\s*([\w\s:]{1,60});")
_TYPEDEF = re.compile(r"\btypedef\s+([\w\s:]{1,60}?)\s+(\w+)\s*;")


def sort_of_words(written: list[str]) -> str:
    """Of a type, by its words."""
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


def structure_of(source: Source, brace: int) -> str:
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
