"""The order of streams: clocks beside paths through a graph of everything that happened, by random programs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from layoutprobe.extras.hiphost.heap import Allocation
from layoutprobe.extras.hiphost.order import Ordered, StreamOrder, Used, Work
from layoutprobe.machine.memory import Region

MEMORY = Allocation("device", 0, 64, (Region("hipMalloc no. 1", 0, 64, True),))


class Graph:
    """What must have ended before what, as edges: each stream is a chain, the host another."""

    def __init__(self, streams: dict[int, bool]) -> None:
        self.alone = {number for number, flag in streams.items() if flag}
        self.last: dict[int, int | None] = dict.fromkeys((0, *streams))  # last node of each stream
        self.host: set[int] = set()  # nodes whose end the host has seen
        self.waits: dict[int, set[int]] = {number: set() for number in (0, *streams)}
        self.events: dict[int, set[int]] = {}
        self.before: list[set[int]] = []

    def _ahead(self, stream: int) -> set[int]:
        own = {self.last[stream]} | self.waits[stream] | self.host
        if stream == 0:
            for other in self.last.keys() - self.alone:
                own |= {self.last[other]} | self.waits[other]
        elif stream not in self.alone:
            own |= {self.last[0]} | self.waits[0]
        return {node for node in own if node is not None}

    def work(self, stream: int, waits: bool) -> int:
        direct = self._ahead(stream)
        self.before.append(direct.union(*(self.before[node] for node in direct)))
        node = len(self.before) - 1
        self.last[stream] = node
        if waits:
            self.host |= {node}
        return node

    def record(self, stream: int, event: int) -> None:
        ahead = self._ahead(stream)
        self.events[event] = ahead
        self.waits[stream] |= ahead  # the mark is work, too


@pytest.mark.parametrize("seed", range(30))
def test_work_follows_what_a_path_leads_from(seed: int) -> None:
    chance = random.Random(seed)
    streams = {number: chance.random() < 0.6 for number in range(1, 4)}
    order, graph = StreamOrder(), Graph(streams)
    for number, alone in streams.items():
        order.told(Ordered.CREATE, number, int(alone))
    works: list[Work] = []
    for _ in range(60):
        stream, event = chance.choice([0, *streams]), chance.randrange(4)
        what = chance.choice(["work", "work", "work", "record", "stream event", "wait event", "wait stream"])
        if what == "work":
            waits = chance.random() < 0.15
            works.append(order.work("work", stream, waits=waits))
            graph.work(stream, waits)
        elif what == "record":
            order.told(Ordered.RECORD, stream, event)
            graph.record(stream, event)
        elif what == "stream event":
            order.told(Ordered.STREAM_EVENT, stream, event)
            graph.waits[stream] |= graph.events.get(event, set())
        elif what == "wait event":
            order.told(Ordered.WAIT_EVENT, event, 0)
            graph.host |= graph.events.get(event, set())
        else:
            order.told(Ordered.WAIT_STREAM, stream, 0)
            last = graph.last[stream]
            graph.host |= graph.waits[stream] | (set() if last is None else {last})
    for new, work in enumerate(works):
        found = {old for old, other in enumerate(works[:new]) if work.follows(other)}
        assert found == graph.before[new], (seed, new)


@pytest.mark.parametrize("seed", range(20))
def test_uses_meet_in_bytes_that_one_of_them_stores(seed: int) -> None:
    chance = np.random.default_rng(seed)
    uses, marks = [], []
    for _ in range(2):
        low, high = sorted(chance.choice(65, 2, replace=False).tolist())
        mine = chance.random(high - low) < 0.3 if chance.random() < 0.7 else None
        store = bool(chance.random() < 0.5)
        uses.append(Used(store, low, high, mine))
        whole = np.zeros(64, np.bool_)
        whole[low:high] = True if mine is None else mine
        marks.append(whole)
    both = bool((marks[0] & marks[1]).any()) and (uses[0].store or uses[1].store)
    assert uses[0].meets(uses[1]) == uses[1].meets(uses[0]) == both
    order = StreamOrder()
    order.told(Ordered.CREATE, 1, 1)
    first, second = (order.work("a copy", number, waits=False) for number in (0, 1))
    assert order.use(MEMORY, first, uses[0]) is None
    met = order.use(MEMORY, second, uses[1])
    assert (met is not None and met[0] is first) == both
    order.told(Ordered.WAIT_ALL, 0, 0)
    later = order.work("a copy", 1, waits=False)
    assert order.use(MEMORY, later, Used(True, 0, 64)) is None, "the host has waited for both"
