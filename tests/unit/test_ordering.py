"""Where a barrier is looked for that must stand before a signal."""

from __future__ import annotations

import pytest

from layoutprobe.gate.ordering import _before_signal
from layoutprobe.source.statements import Source

TEXT = """\
__global__ void split(float* parts, float* y, int* count, int n) {
  parts[threadIdx.x] = y[n];
  __threadfence();
  if (threadIdx.x == 0) {
    if (n > 1) {
      const int before = atomicAdd(count, 1);
    }
  }
  for (int i = 0; i < n; ++i) {
    parts[i] = 0.f;
    atomicAdd(count + 1, i);
  }
}
"""


@pytest.mark.parametrize(
    ("store", "signal", "starts"),
    [
        ("parts[threadIdx.x]", "atomicAdd(count, 1)", ["if (threadIdx", "if (n > 1)", "const int before"]),
        ("parts[i]", "atomicAdd(count + 1", ["atomicAdd(count + 1"]),
        ("parts[threadIdx.x]", "atomicAdd(count + 1", ["for (int i", "atomicAdd(count + 1"]),
    ],
)
def test_all_waves_come_to_what_is_around_a_branch(store: str, signal: str, starts: list[str]) -> None:
    source = Source(TEXT)
    at, there = (source.token_at(TEXT.index(text) + 1) for text in (store, signal))
    found = _before_signal(source, source.around(there), at)
    assert len(found) == len(starts)
    for start, text in zip(found, starts, strict=True):
        assert TEXT[source.tokens[start].start :].startswith(text)
