"""How a choice between changes stands in the code: the number that is asked for says which is executed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from layoutprobe.codegen.expressions import Rewrite

SIGN = 0x4C505631
"""What the number is in the code: whoever runs it puts another one there."""
_ASKS = (
    "static __attribute__((device, always_inline)) inline int lp_variant() "
    f'{{ int n; asm volatile("s_mov_b32 %0, {SIGN:#x}" : "=s"(n)); return n; }}\n'
)
_AS = """\
template <class T> struct lp_as {};
template <class T> struct lp_bare { using t = T; };
template <class T> struct lp_bare<T&> : lp_bare<T> {};
template <class T> struct lp_bare<T&&> : lp_bare<T> {};
template <class T> struct lp_bare<const T> : lp_bare<T> {};
template <class T, int bytes> struct lp_exact { using t = double; };
template <class T> struct lp_exact<T, 8> { using t = T; };
template <class T, class V, int how> struct lp_to { using t = V; };
template <class T, class V> struct lp_to<T, V, 1> { using t = T; };
template <class T, class V> struct lp_to<T, V, 2> { using t = typename lp_exact<T, sizeof(T)>::t; };
template <class T, class V, class A = typename lp_bare<T>::t, class B = typename lp_bare<V>::t> struct lp_how {
  static constexpr bool other = __is_integral(A) && !__is_same(A, bool) && !__is_same(A, B);
  static constexpr int n = !other ? 0 : __is_integral(B) ? 1 : __is_floating_point(B) ? 2 : 0;
  using t = typename lp_to<A, B, n>::t;
};
template <class T, class V>
__attribute__((device, always_inline)) inline typename lp_how<T, V>::t operator,(lp_as<T>, V v) {
  return static_cast<typename lp_how<T, V>::t>(v);
}
"""
"""A value as one of a type: what is chosen among others has their common type, so that without it one that is
unsigned or has a fraction would change all others. Bits stay; sign and width are those of what it stands for. An
operator, as calls may have no value; asked for only where it is of use, as what has no address is passed to none."""
_CHOSEN = "__builtin_choose_expr(lp_how<lp_t, decltype(({0}))>::n == 0, ({0}), (lp_as<lp_t>(), ({0})))"
ASKS = _ASKS + _AS
"""What stands before a text with choices."""


class Region(Struct, frozen=True):
    """What is chosen as a whole.

    Attributes:
        start, end: where it stands in the text.
        is_statement: a statement, and not an expression.
    """

    start: int
    end: int
    is_statement: bool


def with_choice(
    result: str, text: str, region: Region, members: Mapping[int, Sequence[Rewrite]]
) -> tuple[str, dict[int, frozenset[int]]]:
    """A text and what is chosen of a region behind it; and which change stands in each line.

    Whether the number is one of the region's is asked first: nearly always it is not.
    """
    own: dict[int, frozenset[int]] = {}
    piece = text[region.start : region.end]
    asks = f"const int lp_n = lp_variant();\nif ({_among(members)}) {{\n"
    if not region.is_statement:
        asks = f"const int lp_n = lp_variant(); using lp_t = decltype({piece});\n({_among(members)}) ? (\n"
    result += ("{ " if region.is_statement else "({ ") + asks
    for number, rewrites in members.items():
        first, changed, at = result.count("\n") + 1, "", region.start
        for rewrite in sorted(rewrites, key=lambda one: one.start):
            changed, at = changed + text[at : rewrite.start] + rewrite.text, rewrite.end
        changed += text[at : region.end]
        if region.is_statement:
            result += f"if (lp_n == {number}) {{ {changed} }} else\n"
        else:
            result += f"lp_n == {number} ? {_CHOSEN.format(changed)} :\n"
        own |= dict.fromkeys(range(first, result.count("\n") + 1), frozenset((number,)))
    if region.is_statement:
        return result + f" {{ {piece} }}\n}} else {{ {piece} }} }}", own
    return result + f" ({piece}\n)) : ({piece}\n); }})", own


def _among(numbers: Collection[int]) -> str:
    """A test of whether the number is about one of these: those of a region mostly follow each other."""
    ordered = sorted(numbers)
    cuts = [0, *(i for i in range(1, len(ordered)) if ordered[i] - ordered[i - 1] > _NEAR), len(ordered)]
    runs = [(ordered[a], ordered[b - 1]) for a, b in pairwise(cuts)]
    return " || ".join(f"(unsigned)(lp_n - {low}) <= {high - low}u" for low, high in runs)


_NEAR = 4
