"""The sieve: it lets no launch pass in which waves meet in memory, and one that it stops has changed nothing.

What meets is worked out here from the plan of who touches what, access by access: nothing of the sieve's own.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from emulator.lab import assembled, compiled, fresh
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutprobe.backends.base import Buffer, Launch
from layoutprobe.backends.emulator import EmulatorBackend
from layoutprobe.codeobj.model import CodeObject
from layoutprobe.engine.base import Dispatch, Finished, Grain
from layoutprobe.engine.native.engine import NativeEngine
from layoutprobe.isa.dialect import isa_of
from layoutprobe.isa.store import load_instructions
from layoutprobe.observe.grain import grain_of

NOTHING, LDS_READ, LDS_WRITE, LDS_ADD, READ, WRITE, ADD = range(7)
CELLS, WAVES, GROUPS = 64, 3, 2
WORDS = Grain(memory=2, lds=2)


class Sieved:
    """Has the sieve run a launch, and C run it where that did not; notes what came of it."""

    name = "sieved"

    def __init__(self, grain: Grain | None = None) -> None:
        self.engine, self.grain, self.cleared = NativeEngine(), grain, list[bool]()

    def run(self, dispatch: Dispatch) -> Finished:
        grain = self.grain or grain_for(dispatch.code)
        arena = dispatch.memory.arena
        before = [store.bytes.copy() for store in (arena.data, arena.shadow)]
        self.engine._stopped.clear()
        passed = grain is not None and self.engine.clears(dispatch, grain)
        self.cleared.append(passed)
        if passed:
            return Finished(0)
        for store, kept in zip((arena.data, arena.shadow), before, strict=True):
            for region in (r for r in arena.regions if r.writable):
                same = np.array_equal(store.bytes[region.start : region.end], kept[region.start : region.end])
                assert same, f"{region.name} has changed"
        return self.engine.run(dispatch)

    def clears(self, dispatch: Dispatch, grain: Grain) -> bool:
        return False


def grain_for(code: CodeObject, kernel: str = "k") -> Grain | None:
    found = code.kernel(kernel)
    return grain_of(found.entry, load_instructions(code, found), isa_of(code, found).counting)


class Touch(NamedTuple):
    """What a wave does in a step: the cells from `first` on, `width` of them, one behind the other."""

    what: int
    first: int
    width: int


class Seen(NamedTuple):
    """One wave and one cell of LDS (of one workgroup) or global memory, in one interval."""

    wave: int
    what: int


Plan = list[tuple[list[Touch], bool]]
"""What each wave of the launch does, step by step, and whether a barrier follows."""
touches = st.builds(Touch, st.integers(0, 6), st.integers(0, CELLS - 9), st.sampled_from([1, 2, 8]))
plans = st.lists(
    st.tuples(st.lists(touches, min_size=WAVES * GROUPS, max_size=WAVES * GROUPS), st.booleans()),
    min_size=1,
    max_size=4,
)
QUIET = Touch(NOTHING, 0, 1)


def by_cell(plan: Plan) -> dict[Any, set[Seen]]:
    """Who touches each cell: of global memory in the launch, of LDS between two barriers of its workgroup."""
    found: dict[Any, set[Seen]] = {}
    interval = 0
    for step, barrier in plan:
        for wave, (what, first, width) in enumerate(step):
            where = ("global",) if what >= READ else ("lds", wave // WAVES, interval)
            for cell in range(first, first + width):
                if what != NOTHING:
                    found.setdefault((*where, cell), set()).add(Seen(wave, what))
        interval += barrier
    return found


def meets(plan: Plan) -> bool:
    """Two waves touch a cell, one of them stores, and not both add."""
    for seen in by_cell(plan).values():
        for one, two in combinations(seen, 2):
            kinds = {one.what, two.what}
            plain = kinds & {LDS_WRITE, WRITE}
            mixed = len(kinds) == 2 and kinds & {LDS_ADD, ADD}
            if one.wave != two.wave and (plain or mixed):
                return True
    return False


def mixes(plan: Plan) -> bool:
    """A wave both adds to a cell and loads or stores it: there the sieve may stop, as it keeps one of the two."""
    return any(
        len({LDS_ADD, ADD} & {each.what for each in seen}) and len({each.what for each in seen}) > 1
        for seen in by_cell(plan).values()
    )


def launch_of(plan: Plan) -> Launch:
    steps = [[list(touch) for touch in step] for step, _ in plan]
    table = np.array([*np.array(steps).ravel(), *(barrier for _, barrier in plan)], np.int32)
    sums = fresh(WAVES * GROUPS * 32)
    memory = Buffer(np.arange(CELLS, dtype=np.int32))
    code = compiled("touches")
    return Launch(
        code, "k", (GROUPS, 1, 1), (32 * WAVES, 1, 1), [Buffer(table), memory, sums, np.int32(len(plan))]
    )


def cleared(plan: Plan, sieved: Sieved) -> bool:
    """Whether the sieve lets a plan pass; what comes out is compared with a plain run."""
    launch = launch_of(plan)
    ours = EmulatorBackend(engine=sieved).run(launch)
    plain = EmulatorBackend(engine=NativeEngine()).run(launch)
    for one, two in zip(ours.buffers, plain.buffers, strict=True):
        assert (one is None and two is None) or np.array_equal(one, two)  # type: ignore[arg-type]
    return sieved.cleared[-1]


@pytest.fixture(scope="module")
def sieved() -> Sieved:
    """One engine for all plans, so that its tables have seen other launches before."""
    return Sieved(WORDS)


def step(*touches: tuple[int, Touch], barrier: bool = False) -> tuple[list[Touch], bool]:
    """Some waves do something."""
    chosen = dict(touches)
    return [chosen.get(wave, QUIET) for wave in range(WAVES * GROUPS)], barrier


CASES: dict[str, tuple[Plan, bool]] = {
    "a tile, with a barrier": (
        [step((0, Touch(LDS_WRITE, 8, 8)), barrier=True), step((1, Touch(LDS_READ, 8, 8)))], True,
    ),
    "a tile, without": ([step((0, Touch(LDS_WRITE, 8, 8))), step((1, Touch(LDS_READ, 8, 8)))], False),
    "a tile that is overwritten": (
        [step((0, Touch(LDS_READ, 0, 8))), step((1, Touch(LDS_WRITE, 7, 1)))], False,
    ),
    "read by many, then stored by one": (
        [step(*((w, Touch(LDS_READ, 0, 8)) for w in range(3))), step((0, Touch(LDS_WRITE, 3, 1)))], False,
    ),
    "LDS of another workgroup": ([step((0, Touch(LDS_WRITE, 8, 8)), (3, Touch(LDS_READ, 8, 8)))], True),
    "counters": ([step(*((w, Touch(ADD, 5, 2)) for w in range(6)))], True),
    "a counter that is cleared meanwhile": (
        [step((0, Touch(ADD, 5, 1)), (4, Touch(ADD, 5, 1))), step((5, Touch(WRITE, 5, 1)))], False,
    ),
    "global memory of another workgroup": (
        [step((0, Touch(WRITE, 16, 8)), barrier=True), step((3, Touch(READ, 23, 1)))], False,
    ),
    "global memory of one's own": ([step((2, Touch(WRITE, 16, 8))), step((2, Touch(READ, 16, 8)))], True),
    "overwritten": ([step((0, Touch(READ, 16, 8))), step((4, Touch(WRITE, 16, 1)))], False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_passes(case: str, sieved: Sieved) -> None:
    plan, passes = CASES[case]
    assert meets(plan) != passes, "the case says what the plan does"
    assert cleared(plan, sieved) == passes


@settings(max_examples=150, deadline=None)
@given(plan=plans)
def test_no_meeting_passes(plan: Plan, sieved: Sieved) -> None:
    passed = cleared(plan, sieved)
    if meets(plan):
        assert not passed
    elif not mixes(plan):
        assert passed


@pytest.mark.parametrize("seed", range(12))
def test_two_waves_anywhere_in_a_large_launch(seed: int) -> None:
    """On several threads, and in several batches: every wave has cells of its own, but for one."""
    rng, waves = np.random.default_rng(seed), WAVES * 100
    steps = rng.integers(READ, ADD, (2, waves, 3), np.int32)  # load or store
    steps[..., 1], steps[..., 2] = 8 * np.arange(waves), 8
    one, other = rng.choice(waves, 2, replace=False)
    for meet in (False, True):
        if meet:
            steps[0, one], steps[1, other] = (WRITE, 8 * one, 8), (READ + seed % 2, 8 * one + 7, 1)
        table = np.append(steps.ravel(), [1, 0]).astype(np.int32)
        launch = Launch(
            compiled("touches"), "k", (100, 1, 1), (32 * WAVES, 1, 1),
            [Buffer(table), Buffer(np.arange(8 * waves, dtype=np.int32)), fresh(waves * 32), np.int32(2)],
        )  # fmt: skip
        sieved = Sieved(WORDS)
        EmulatorBackend(engine=sieved).run(launch)
        assert sieved.cleared == [not meet]


@pytest.mark.parametrize(
    ("body", "lds"),
    {
        "waited for": ("ds_store_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n s_barrier", True),
        "not waited for": ("ds_store_b32 v1, v0\n s_barrier", False),
        "waited for in part": (
            "ds_store_b32 v1, v0\n ds_load_b32 v2, v1\n s_waitcnt lgkmcnt(1)\n s_barrier", False,
        ),
        "on one way alone": (
            "ds_store_b32 v1, v0\n s_cbranch_scc1 .Lthere\n s_waitcnt lgkmcnt(0)\n.Lthere:\n s_barrier", False,
        ),
        "round a loop": (
            "s_mov_b32 s9, 4\n.Lloop:\n s_barrier\n ds_store_b32 v1, v0\n s_sub_u32 s9, s9, 1\n"
            " s_cmp_lg_u32 s9, 0\n s_cbranch_scc1 .Lloop", False,
        ),
        "behind the last barrier": ("s_barrier\n ds_store_b32 v1, v0", True),
    }.values(),
)  # fmt: skip
def test_accesses_that_are_late_are_left_to_observers(body: str, lds: bool) -> None:
    assert (grain_for(assembled(body, pointers=1, lds=512)) is not None) == lds


def test_narrow_accesses_make_it_finer() -> None:
    narrow = grain_for(assembled("ds_store_b16 v1, v0\n global_store_b8 v1, v0, s[4:5]", pointers=1, lds=512))
    assert narrow == Grain(memory=0, lds=1)


def test_plans_of_both_kinds_are_drawn() -> None:
    """The last test would say nothing if all plans met, or none."""
    drawn: Counter[bool] = Counter()

    @settings(max_examples=150, deadline=None, database=None)
    @given(plan=plans)
    def count(plan: Plan) -> None:
        drawn[meets(plan)] += 1

    count()
    assert min(drawn.values()) >= 20
