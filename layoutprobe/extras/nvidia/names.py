"""Names of NVIDIA's cards, and which of them runs code for which."""

from __future__ import annotations

import re


def of_cuda(major: int, minor: int) -> str:
    """A card of NVIDIA by its compute capability."""
    return f"sm_{major}{minor}"


def is_cuda(target: str) -> bool:
    """It is spelled as NVIDIA spells its cards: sm_90, sm_90a."""
    return re.fullmatch(r"sm_[0-9]{2,3}[a-z]?", target) is not None


def cuda_runs(card: str, target: str) -> bool:
    """Code for one card runs on later ones of the same major version, and on no others.

    Args:
        card: as `of_cuda` names it.
        target: what the code was compiled for; sm_90a is that card and no later one.
    """
    here, wanted = (text.removeprefix("sm_") for text in (card, target))
    number = wanted.rstrip("af")
    if not number.isdecimal() or here[:-1] != number[:-1]:
        return False
    return int(here) == int(number) if number != wanted else int(here) >= int(number)
