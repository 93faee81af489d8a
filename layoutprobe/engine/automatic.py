"""The engine that runs where nobody names one: numpy begins, and C takes over what pays.

To make a kernel ready for C costs a tenth of a second, and several times that where the cache has not what it
needs. A launch of some waves costs numpy less. So the rule is this: C runs a launch of many waves, and a kernel
that has kept numpy busy for about as long, if by many launches. While something must be compiled, that happens in
the background and numpy goes on; where nothing can be compiled, it always does. Both give the same results, so that
nothing depends on which of them ran.
"""

from __future__ import annotations

from collections import Counter
from math import prod

from layoutprobe.engine.base import Dispatch, Engine, Finished, Grain
from layoutprobe.engine.choice import AUTO
from layoutprobe.engine.numpy_engine import NumpyEngine

WAVES = 64
"""Of a launch that C runs at once."""
ISSUED = 2000
"""Instructions of a kernel that numpy has issued, all its launches together, before C runs it."""
LAUNCH = 40
"""Instructions that a launch counts for whatever it does: it has a price of its own."""
EACH = 200
"""Instructions of a launch that observers watch, below which numpy stays: to tell them of what C did costs more."""
RULE = f"C for launches of {WAVES} waves, and for kernels that go on for {ISSUED} instructions; numpy for the rest"


class AutomaticEngine:
    """Keeps both engines, and what each kernel has cost."""

    name = AUTO

    def __init__(self) -> None:
        self._numpy = NumpyEngine()
        self._native: Engine | None = None
        self._issued = Counter[tuple[str, str]]()
        self._last = Counter[tuple[str, str]]()

    def run(self, dispatch: Dispatch) -> Finished:
        """See Engine."""
        key = (dispatch.code.digest, dispatch.kernel.name)
        short = bool(dispatch.observers) and self._last[key] < EACH
        if _is_large(dispatch) or (self._issued[key] >= ISSUED and not short):
            return self._with_c().run(dispatch)
        finished = self._numpy.run(dispatch)
        self._issued[key] += finished.issued + LAUNCH
        self._last[key] = finished.issued
        return finished

    def clears(self, dispatch: Dispatch, grain: Grain) -> bool:
        """See Engine; where C would not pay, it does not."""
        key = (dispatch.code.digest, dispatch.kernel.name)
        pays = _is_large(dispatch) or self._issued[key] >= ISSUED
        return pays and self._with_c().clears(dispatch, grain)

    def _with_c(self) -> Engine:
        if self._native is None:
            from layoutprobe.engine.native.engine import NativeEngine  # 20 ms that small launches do not need

            self._native = NativeEngine(self._numpy, wait=False)
        return self._native


def _is_large(dispatch: Dispatch) -> bool:
    waves = prod(dispatch.grid) * -(-prod(dispatch.block) // dispatch.kernel.wavefront_size)
    return waves >= WAVES
