"""Which extent governs a loop, by the sizes that ran: one that fits by chance goes behind one that does by design.
And by sizes that are launched for it: what is found, what no size can show, and what nobody knows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from layoutprobe.gate.beside import extent_for
from layoutprobe.gate.passes import Passes, Sought, Went
from layoutprobe.manifest.model import Sizes
from layoutprobe.observe.loop_tests import LoopTests
from layoutprobe.place import Place
from layoutprobe.report.coverage import AGAIN, Loop

ROWS = [(64, 3), (32, 2), (69, 3), (96, 5)]
"""How often a loop went round at so many rows: 23 a time would fit."""
DEPTH = [(96, 3), (64, 2), (96, 3), (160, 5)]
"""And at so many steps of K."""


def test_a_step_that_is_a_power_of_two_is_told_from_any_other() -> None:
    assert extent_for(ROWS, 1, 1, whole=True) is None
    assert extent_for(ROWS, 1, 1, whole=False) is not None
    assert extent_for(DEPTH, 1, 1, whole=True) == 32


def up(value: int, step: int) -> int:
    return -(-value // step)


LISTED = {"M": 20, "K": 40}
NEVER, NOWHERE = "no size does", "nobody knows"
KINDS: dict[str, tuple[Callable[[int, int], int], str, str | Sizes]] = {
    "what is left of 32, in steps of 16": (lambda m, k: up(k % 32, 16), "3 or more", NEVER),
    "what is left of 8, a lane each": (lambda m, k: up(k % 8, 32), AGAIN, NEVER),
    "what is left of 48, in steps of 16": (lambda m, k: up(k % 48, 16), "3 or more", {"M": 1, "K": 2721}),
    "what is left of 45, in steps of 23": (lambda m, k: up(k % 45, 23), "3 or more", NEVER),
    "no more than 64 of them, in steps of 32": (lambda m, k: up(min(k, 64), 32), "3 or more", NEVER),
    "rounded up to 16, in steps of 8": (lambda m, k: up(k, 16) * 2, "1", NEVER),
    "four at least": (lambda m, k: 3 + up(k, 16), "2", NEVER),
    "what is left of all, in a lane": (lambda m, k: min(4, m * k - (m * k - 1) // 256 * 256), "2", {"M": 2, "K": 1}),
    "far apart": (lambda m, k: up(k, 1024), AGAIN, {"M": 1, "K": 1025}),
    "farther than anybody looks": (lambda m, k: up(k, 1 << 13), AGAIN, NOWHERE),
    "of a part, farther than anybody looks": (lambda m, k: up(k // 8, 1 << 13), AGAIN, NOWHERE),
    "of rows": (lambda m, k: up(m, 64), AGAIN, {"M": 65, "K": 1}),
    "of both": (lambda m, k: up(m + k, 64), "2", {"M": 64, "K": 1}),
    "always one": (lambda m, k: 1, AGAIN, NOWHERE),
}  # fmt: skip
"""How often a loop goes round with M and K, a number of passes that it lacks, and what comes of looking for it."""


def unknown(_: Sizes) -> LoopTests | None:
    """Nothing is known of what loops are left by."""
    return None


def anything(_: Sizes) -> bool:
    """No size is ruled out."""
    return False


def looked(
    passes: Callable[[int, int], int],
    wanted: str,
    bound: Callable[[int, int], bool],
    tests: Callable[[Sizes], LoopTests | None] = unknown,
    ruled_out: Callable[[Sizes], bool] = anything,
) -> tuple[Sought, int]:
    """What comes of it, and how many launches that takes."""
    made = list[Sizes]()

    def launch(sizes: Sizes) -> Went | None:
        made.append(sizes)
        if not bound(sizes["M"], sizes["K"]):
            return None
        count = passes(sizes["M"], sizes["K"])
        return Went({0: frozenset({count})} if count else {})

    search = Passes([LISTED, {"M": 37, "K": 45}], {"M": 1, "K": 1}, launch, tests, ruled_out)
    return search.look(Loop(Place(), (0, 64), (), None), wanted, []), len(made)


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_of_looking_for_passes(kind: str) -> None:
    passes, wanted, told = KINDS[kind]
    found, launches = looked(passes, wanted, lambda m, k: True)
    assert found.never == (told == NEVER)
    assert found.shown == (None if isinstance(told, str) else told)
    assert (found.reach is not None) == (found.shown is None)
    assert launches <= 50


@pytest.mark.parametrize("wanted", ["2", AGAIN])
def test_nothing_is_said_to_be_impossible_where_extents_cannot_be_moved(wanted: str) -> None:
    """Sizes with M = K alone may be launched, or none but small ones."""
    found, _ = looked(lambda m, k: up(k, 8), wanted, lambda m, k: m == k or (m, k) == (20, 40))
    assert found.shown is None or found.shown == LISTED
    assert not found.never
    found, _ = looked(lambda m, k: up(k % 64, 32), "3 or more", lambda m, k: k < 32)
    assert found == Sought(reach={"M": 4096, "K": 8})


def test_sizes_that_should_show_it_come_first() -> None:
    search = Passes(
        [LISTED],
        {"M": 4, "K": 8},
        lambda sizes: Went({0: frozenset({up(sizes["K"], 16)})}),
        unknown,
        anything,
    )
    loop = Loop(Place(), (0, 64), (), None)
    assert search.look(loop, "2", [{"M": 20, "K": 8}, {"M": 20, "K": 24}]).shown == {"M": 20, "K": 24}
    assert search.look(loop, "3 or more", [{"M": 20, "K": 8}]).shown == {"M": 4, "K": 40}


@pytest.mark.parametrize(
    ("compared", "never"),
    [
        (lambda sizes: {(128, 128)}, True),
        (lambda sizes: {(128, sizes["K"] + 4096)}, False),  # some K may show it, farther than anybody looks
        (lambda sizes: set(), False),
    ],
)
def test_no_size_changes_what_is_compared_with_the_same_everywhere(
    compared: Callable[[Sizes], set[tuple[int, int]]], never: bool
) -> None:
    def tests(sizes: Sizes) -> LoopTests:
        return LoopTests({0: frozenset(found)} if (found := compared(sizes)) else {})

    found, _ = looked(lambda m, k: 1, AGAIN, lambda m, k: True, tests)
    assert (found.shown, found.never) == (None, never)


@pytest.mark.parametrize("rows", [50, 1 << 20])
@pytest.mark.parametrize(("limit", "shown"), [(64, None), (70, {"M": 1, "K": 65})])
def test_what_the_manifest_rules_out_is_not_asked_for(limit: int, shown: Sizes | None, rows: int) -> None:
    """K goes from 33 up to a limit: one pass over 32 is as impossible as three may be, unless M might do it."""
    for wanted in ("1", "3 or more"):
        found, _ = looked(
            lambda m, k: up(k, 32),
            wanted,
            lambda m, k: 33 <= k <= limit,
            ruled_out=lambda sizes: not 33 <= sizes["K"] <= limit or sizes["M"] > rows,
        )
        assert found.shown == (None if wanted == "1" else shown)
        assert found.never == (found.shown is None and (wanted == "1" or rows == 50))


def test_a_launch_that_a_fault_ends_rules_nothing_out() -> None:
    def launch(sizes: Sizes) -> Went:
        return Went({0: frozenset({up(sizes["K"] % 32, 16)} - {0})}, whole=sizes["K"] < 4000)

    search = Passes([LISTED, {"M": 37, "K": 45}], {"M": 1, "K": 1}, launch, unknown, anything)
    found = search.look(Loop(Place(), (0, 64), (1, 2), None), "3 or more", [])
    assert (found.shown, found.never) == (None, False)
