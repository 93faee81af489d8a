"""The rules that wrong values of an output break, in the words in which they are told."""

from __future__ import annotations

from layoutprobe.report.finding import Rule
from layoutprobe.trace.value_causes import CHANGED, MISPLACED, ROUNDED

WRONG_VALUES = Rule(
    "numerics/wrong-values",
    "an output differs from what the contract computes by more than rounding explains",
    "Somewhere between the inputs and the store an element was exchanged, lost, added twice, or rounded "
    "too often. The finding says which elements, and where it can what they hold instead. Floats may be "
    "off by a bound that follows from the types on the way, or by the manifest's [tolerance], where a "
    "kernel is meant to be less exact. Integers must be what the contract gives; under a Python reference "
    "a number that f32 may round to either side (a tie) passes as both. So let the reference round where "
    "the kernel is meant to, and compute in float64 elsewhere. Under a reference operands and stores are "
    "followed where arguments are marked as its product (matrix = A, B, D).",
    "operand-provenance and epilogue say which instruction, lane and register are at fault; of what is no product, "
    "compute the first wrong element by hand at the smallest size",
)
WRONG_FACTOR = Rule(
    "numerics/wrong-factor",
    "alpha or beta is missing, doubled, exchanged or applied to something else",
    "The sum is right, and what is made of it is not: every element is what the contract gives with another "
    "factor. With alpha 1 and beta 0 it would not show.",
    "hold the expression that is stored against alpha * sum + beta * C",
)
WRONG_EPILOGUE = Rule(
    "numerics/wrong-epilogue",
    "what is made of the product before it is stored is not what the contract says",
    "The sum is right. Every element is what the contract gives where a bias, a scale, an activation or a residual "
    "is left out, applied twice, in another order, or with another index.",
    "hold the epilogue of the kernel against the contract, step by step",
)
NEVER_DEFINED = Rule(
    "numerics/never-defined",
    "elements of an output were never given a defined value",
    "They keep what the memory held before, or were computed from something that nobody had stored.",
    "see epilogue for stores that are missing, and lds-safety for loads of what was never stored",
)

NOT_BORNE = Rule(
    "numerics/not-borne",
    "an output is far off on inputs that every kernel meets, or that this one bears by its manifest",
    "On usual numbers it is right. Sums overflow, a largest value begins at a number that some input lies below, "
    "a row of zeros is divided by, the smallest numbers are taken for zero, or what is not finite spoils others.",
    "compute in a wider type, subtract the largest value first, or guard the division; `bears = []` in the manifest "
    "says that no such input comes",
)
FOREIGN = Rule(
    "numerics/foreign-element",
    "an element of another row or column enters a sum, harmless only while it is finite",
    "It is multiplied by a zero, as where only one operand of a tail is masked: 0 * NaN and 0 * infinity are "
    "NaN. On finite numbers the result is right, and one NaN in a batch spoils its neighbours.",
    "mask both operands beyond the edge, or load zeros there; check the bounds of the loads of A and of B",
)
LOST = Rule(
    "numerics/lost-nonfinite",
    "NaN or infinity of the inputs does not arrive in the output",
    "A sum with NaN is NaN, and one with infinity is infinite or NaN. A kernel that drops them hides that a "
    "model has diverged.",
    "look for comparisons, min, max or clamps on the way, and for -ffast-math, which may drop NaN",
)

CHANGED_OPERAND = Rule(
    f"numerics/{CHANGED}",
    "an operand is multiplied with another value than memory holds",
    "The element is the right one, and its bits are not: a sign extension runs over its neighbours in a register, a "
    "mask or a clamp takes something away, or a conversion rounds.",
    "look at what happens between the load and the matrix instruction: shifts, masks, packing, conversions",
)
MISPLACED_ADDEND = Rule(
    f"numerics/{MISPLACED}",
    "what is added to the product comes from another element than it should",
    "With A and B zero the output holds nothing but what is added, and that is another element of C or of a bias.",
    "compare the index of this load with row and column of the element that is stored",
)
OTHER_INPUT = Rule(
    "numerics/input-taken-otherwise",
    "an input is taken otherwise than the Python reference takes it",
    "The reference gives every element of the output where this one input is altered: nibbles exchanged, another "
    "zero point, a scale of another row.",
    "compare how the kernel unpacks and indexes this input with what the reference does",
)
GIVEN_TOO_EARLY = Rule(
    "numerics/reference-of-before",
    "the Python reference takes a buffer that launches before make as it was before them",
    "A reference is given what all buffers held before the first launch. With what the launches before leave in this "
    "one it gives all that the kernel stored.",
    "compute this buffer in the reference, too, of the inputs of the launches before",
)
UNREAD_INPUT = Rule(
    "numerics/unread-input",
    "an output is wrong, and of an input nothing is loaded",
    "What the contract computes depends on it. The kernel takes another buffer, or leaves it out.",
    "is another pointer taken in its place, or is it left out?",
)
ROUNDED_SUM = Rule(
    f"numerics/{ROUNDED}",
    "sums, or what is kept on the way, are rounded to a narrower type",
    "The result is right up to the rounding of a type that is narrower than the accumulators; or than every "
    "argument, as that of a temporary or of LDS may be.",
    "keep values in the type of the sums until they are stored; or state a [tolerance], where that is meant",
)
OTHER_STEP = Rule(
    "numerics/other-step",
    "an output is what the Python reference gives where one of its steps is left out or another one",
    "The text of the reference was changed in one step, and called on the same inputs: a term or a factor left out, "
    "two steps exchanged, another sign, number or bound. With this change it gives every element of the output.",
    "hold the kernel at this line against that step of the reference",
)
ODD_READ = Rule(
    "numerics/odd-read",
    "one load from LDS does not follow the pattern of the others",
    "The contract names no product, so that nobody knows which element belongs where. But the loads of one kind that "
    "read one input are alike, and one of them is not: its base or its offset is another.",
    "compare offset and base of this load with those of its neighbours",
)
OTHER_ELEMENTS = Rule(
    "numerics/other-elements",
    "an output is computed of other elements of an input than the Python reference takes",
    "One element of an input was moved far off, in the kernel and for its reference. An output follows it in one of "
    "them and not in the other: a mask or a bound is off, an index takes another row, a part of a reduction is lost. "
    "Two runs beside each other show where the element comes in, or goes no further.",
    "compare the index, the bound or the mask at this place with what the reference takes",
)
ORDER = Rule(
    "numerics/depends-on-order",
    "an output is right where workgroups and waves run side by side, and wrong where they come in another order",
    "They tell each other something through memory: a flag, a counter, a partial result. What a workgroup "
    "finds there depends on how far the others are, and of what it may find one is handled wrongly. They were also "
    "run one after the other, and so that each finds nothing done by those before it. The same goes for waves that "
    "wait for each other through LDS: one that waits for less than all has it, where all are equally fast.",
    "go through what a workgroup, or a wave, does where all before it are done already (flags that have their last "
    "value, counters that are full, results that are whole), and where none of them has begun (flags to wait for)",
)
CAUSES = {CHANGED: CHANGED_OPERAND, MISPLACED: MISPLACED_ADDEND, ROUNDED: ROUNDED_SUM}
RULES = (
    WRONG_VALUES,
    WRONG_FACTOR,
    WRONG_EPILOGUE,
    NEVER_DEFINED,
    NOT_BORNE,
    FOREIGN,
    LOST,
    OTHER_INPUT,
    OTHER_STEP,
    GIVEN_TOO_EARLY,
    UNREAD_INPUT,
    *CAUSES.values(),
    ODD_READ,
    OTHER_ELEMENTS,
    ORDER,
)
