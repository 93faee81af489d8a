"""The law of definedness: a bit that an undefined source bit can change must be reported as undefined."""

from __future__ import annotations

import numpy as np

from layoutprobe.errors import ExecutionError
from layoutprobe.isa.inst import EXEC_LO, NULL, SCC, Inst
from oracle.harness import U32, VGPRS, Image, MismatchError, Outcome, execute


def random_shadow(rng: np.random.Generator, image: Image) -> Image:
    """Undefined bits of all kinds: none, one, a half, all, random. EXEC is always defined."""

    def bits(shape: tuple[int, ...]) -> U32:
        noise = rng.integers(0, 1 << 32, shape, np.uint32)
        one = np.uint32(1) << rng.integers(0, 32, shape, np.uint32)
        half = np.where(noise & 1, np.uint32(0xFFFF), np.uint32(0xFFFF0000))
        none, whole = np.zeros_like(noise), np.full_like(noise, 0xFFFFFFFF)
        kind = rng.integers(0, 6, shape)
        return np.choose(kind, [none, none, noise, whole, one, half]).astype(np.uint32)

    shadow = Image(bits(image.v.shape), bits(image.s.shape))
    shadow.v[rng.random(VGPRS) < 0.3] = 0
    shadow.s[rng.random(len(shadow.s)) < 0.4] = 0
    shadow.s[[EXEC_LO, EXEC_LO + 1, NULL]] = 0
    shadow.s[SCC] = np.where(shadow.s[SCC] != 0, np.uint32(0xFFFFFFFF), np.uint32(0))
    return shadow


def with_other_garbage(rng: np.random.Generator, image: Image, shadow: Image) -> Image:
    """The same defined bits, other undefined ones."""
    other = image.copy()
    other.v ^= rng.integers(0, 1 << 32, image.v.shape, np.uint32) & shadow.v
    flipped = rng.integers(0, 1 << 32, image.s.shape, np.uint32) & shadow.s
    flipped[SCC] &= 1
    other.s ^= flipped
    return other


def inverted(image: Image, shadow: Image) -> Image:
    """Every undefined bit the other way round."""
    other = image.copy()
    other.v ^= shadow.v
    other.s ^= shadow.s
    other.s[SCC] = image.s[SCC] ^ (shadow.s[SCC] & 1)
    return other


def check_soundness(inst: Inst, image: Image, rng: np.random.Generator, executor: object = None) -> bool:
    """Execute with two kinds of garbage: results may differ only where they are reported as undefined.

    Returns:
        False where the instruction refused the undefined value.

    Raises:
        MismatchError: a bit differs that counts as defined.
    """
    shadow = random_shadow(rng, image)
    try:
        one = execute(inst, image, shadow=shadow, executor=executor)
        two = execute(inst, with_other_garbage(rng, image, shadow), shadow=shadow, executor=executor)
    except ExecutionError as refusal:
        if "undefined" not in str(refusal):
            raise
        return False
    for outcome in (one, two):
        _differ_only_where_undefined(inst, one, two, outcome.shadow)
    return True


def _differ_only_where_undefined(inst: Inst, one: Outcome, two: Outcome, shadow: Image) -> None:
    vectors = (one.image.v ^ two.image.v) & ~shadow.v
    if vectors.any():
        register, wave, lane = (int(x) for x in np.argwhere(vectors)[0])
        bits = vectors[register, wave, lane]
        raise MismatchError(inst, f"v{register} wave {wave} lane {lane}", "no difference", f"{bits:#x}")
    scalars = (one.image.s ^ two.image.s) & ~shadow.s
    if scalars.any():
        register, wave = (int(x) for x in np.argwhere(scalars)[0])
        raise MismatchError(
            inst, f"scalar {register} wave {wave}", "no difference", f"{scalars[register, wave]:#x}"
        )
