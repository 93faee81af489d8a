"""How a choice between changes stands in the code: the number that is asked for says which is executed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from layoutprobe.rewrites.spot import Rewrite

SIGN = 0x4C505631
"""What the number is in the code: whoever runs it puts another one there."""
_ASKS = (
    "static __attribute__((device, always_inline)) inline int lp_variant() "
    f'{{ int lp_it; asm volatile("s_mov_b32 %0, {SIGN:#x}" : "=s"(lp_it)); return lp_it; }}\n'
)
_AS = """\
template <class LpT> struct lp_as {};
template <class LpT> struct lp_bare { using lp_it = LpT; };
template <class LpT> struct lp_bare<LpT&> : lp_bare<LpT> {};
template <class LpT> struct lp_bare<LpT&&> : lp_bare<LpT> {};
template <class LpT> struct lp_bare<const LpT> : lp_bare<LpT> {};
template <class LpT, int lp_bytes> struct lp_exact { using lp_it = double; };
template <class LpT> struct lp_exact<LpT, 8> { using lp_it = LpT; };
template <class LpT, bool lp_less> struct lp_least { using lp_it = LpT; };
template <class LpT> struct lp_least<LpT, true> { using lp_it = int; };
template <class LpT, class LpV, int lp_way> struct lp_to { using lp_it = LpV; };
template <class LpT, class LpV> struct lp_to<LpT, LpV, 1> : lp_least<LpT, (sizeof(LpT) < sizeof(int))> {};
template <class LpT, class LpV> struct lp_to<LpT, LpV, 2> {
  using lp_it = typename lp_exact<LpT, sizeof(LpT)>::lp_it;
};
template <class LpT, class LpV> struct lp_to<LpT, LpV, 3> { using lp_it = void; };
template <class LpT, class LpV, class LpA = typename lp_bare<LpT>::lp_it, class LpB = typename lp_bare<LpV>::lp_it>
struct lp_how {
  static constexpr bool lp_other = __is_integral(LpA) && !__is_same(LpA, bool) && !__is_same(LpA, LpB);
  static constexpr bool lp_wide = __is_arithmetic(LpA) && !__is_scalar(LpB) && !__is_class(LpB) && !__is_union(LpB) &&
                                  !__is_void(LpB) && !__is_array(LpB) && !__is_function(LpB);
  static constexpr int lp_kind =
      lp_wide ? 3 : !lp_other ? 0 : __is_integral(LpB) ? 1 : __is_floating_point(LpB) ? 2 : 0;
  using lp_it = typename lp_to<LpA, LpB, lp_kind>::lp_it;
};
template <class LpT, class LpV>
__attribute__((device, always_inline)) inline typename lp_how<LpT, LpV>::lp_it operator,(lp_as<LpT>, LpV lp_v) {
  return static_cast<typename lp_how<LpT, LpV>::lp_it>(lp_v);
}
"""
"""A value as one of a type: what is chosen among others has their common type, so that without it one that is
unsigned or has a fraction would change all others. Bits stay; sign and width are those of what it stands for, or of
an int where that has less: it is one wherever something is done with it, and a byte read with a sign keeps it. A
vector for a number is none: all others would be vectors, too. An
operator, as calls may have no value; asked for only where it is of use, as what has no address is passed to none. No
word in it or in a choice is one that a macro may have as its parameter, or as its name."""
OTHER_VALUES = ("lp_other", "lp_less", "lp_more", "lp_none")
"""Functions that give another value of the type that they are given one of."""
_OTHER = """\
template <int lp_way, class LpT> __attribute__((device, always_inline)) inline LpT lp_changed(LpT lp_v) {
  if constexpr (__is_same(LpT, bool)) return lp_way == 0 ? !lp_v : lp_way == 2;
  else if constexpr (__is_pointer(LpT) || __is_enum(LpT) || __is_array(LpT)) return lp_v;
  else if constexpr (__is_integral(LpT))
    return lp_way == 0 ? lp_v ^ 1 : lp_way == 1 ? lp_v >> 1 : lp_way == 2 ? lp_v * 3 + 7 : 0;
  else if constexpr (__is_class(LpT) || __is_union(LpT)) {
    LpT lp_it = lp_v;
    for (unsigned lp_i = 2; lp_i < sizeof(LpT); lp_i += 4) ((unsigned char*)&lp_it)[lp_i] ^= 0x10 << lp_way;
    return lp_it;
  } else if constexpr (lp_way == 0) return lp_v * 3 + 1;
  else if constexpr (lp_way == 1) return lp_v * 0 + 1;
  else if constexpr (lp_way == 2) return -lp_v - 1;
  else return lp_v * 0;
}
template <class LpT> __attribute__((device, always_inline)) inline LpT lp_other(LpT lp_v) {
  return lp_changed<0>(lp_v);
}
template <class LpT> __attribute__((device, always_inline)) inline LpT lp_less(LpT lp_v) {
  return lp_changed<1>(lp_v);
}
template <class LpT> __attribute__((device, always_inline)) inline LpT lp_more(LpT lp_v) {
  return lp_changed<2>(lp_v);
}
template <class LpT> __attribute__((device, always_inline)) inline LpT lp_none(LpT lp_v) {
  return lp_changed<3>(lp_v);
}
"""
"""A number beside one, half of it, a larger one, or none: with most of them an index stays inside of what it is one
of, and bounds need the larger one. Of a float three times as much, one, as an infinity is one whatever is done with
it, the other sign, or none; of a structure, other bits in each word."""
_CHOSEN = "__builtin_choose_expr(lp_how<lp_t, decltype(({0}))>::lp_kind == 0, ({0}), (lp_as<lp_t>(), ({0})))"
ASKS = f"#ifndef LP_ASKS\n#define LP_ASKS\n{_ASKS}{_AS}{_OTHER}#endif\n"
"""What stands before a text with choices; once, where a kernel and its headers have some."""


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

    Whether the number is one of the region's is asked first: nearly always it is not. Each test asks for it anew: of
    tests of one value the compiler makes a tree of branches, of which one has lost what it should assign (gfx942,
    clang 22.1: 7 left a row where only 6 should).
    """
    own: dict[int, frozenset[int]] = {}
    piece = text[region.start : region.end]
    asks = f"if ({_among(members)}) {{\n"
    if not region.is_statement:
        asks = f"using lp_t = decltype({piece});\n({_among(members)}) ? (\n"
    result += ("{ " if region.is_statement else "({ ") + asks
    for number, rewrites in members.items():
        first, changed, at = result.count("\n") + 1, "", region.start
        for rewrite in sorted(rewrites, key=lambda one: one.start):
            changed, at = changed + text[at : rewrite.start] + rewrite.text, rewrite.end
        changed += text[at : region.end]
        if region.is_statement:
            result += f"if (lp_variant() == {number}) {{ {changed} }} else\n"
        else:
            result += f"lp_variant() == {number} ? {_CHOSEN.format(changed)} :\n"
        own |= dict.fromkeys(range(first, result.count("\n") + 1), frozenset((number,)))
    if region.is_statement:
        return result + f" {{ {piece} }}\n}} else {{ {piece} }} }}", own
    return result + f" ({piece}\n)) : ({piece}\n); }})", own


def _among(numbers: Collection[int]) -> str:
    """A test of whether the number is about one of these: those of a region mostly follow each other."""
    ordered = sorted(numbers)
    cuts = [0, *(i for i in range(1, len(ordered)) if ordered[i] - ordered[i - 1] > _NEAR), len(ordered)]
    runs = [(ordered[a], ordered[b - 1]) for a, b in pairwise(cuts)]
    return " | ".join(f"((unsigned)(lp_variant() - {low}) <= {high - low}u)" for low, high in runs)


_NEAR = 4
