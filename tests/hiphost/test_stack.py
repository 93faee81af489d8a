"""The stack of recursive kernels: as much as ROCm gives by default, and as much as the program asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hiphost.running import hipcc, layoutprobe_run

from layoutprobe.engine.choice import ENVIRONMENT

DEEP = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__device__ __noinline__ int sum(const int *in, int n) {
  volatile int kept[8];
  kept[n & 7] = in[n];
  return n ? sum(in, n - 1) + kept[n & 7] : kept[0];  // deeper
}
__global__ void deep(const int *in, int *out, int n) { out[threadIdx.x] = sum(in, n - int(threadIdx.x)); }
int main(int count, char **words) {
  const int n = 50, wanted = atoi(words[1]);
  int host[n + 1], found[32], *in, *out;
  size_t stack = 0;
  if (wanted && hipDeviceSetLimit(hipLimitStackSize, wanted) != hipSuccess) return puts("refused"), 0;
  if (hipDeviceGetLimit(&stack, hipLimitStackSize) != hipSuccess) return 3;
  for (int i = 0; i <= n; i++) host[i] = i * i % 13;
  (void)hipMalloc((void **)&in, sizeof host), (void)hipMalloc((void **)&out, sizeof found);
  (void)hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice);
  deep<<<1, 32>>>(in, out, n);
  if (hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost) != hipSuccess) return puts("overflow"), 0;
  bool right = true;
  for (int i = 0; i < 32; i++) {
    int expected = 0;
    for (int at = 0; at <= n - i; at++) expected += host[at];
    right = right && found[i] == expected;
  }
  printf("%zu bytes, %s\\n", stack, right ? "right" : "wrong");
}
"""


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deep")
    (folder / "deep.hip").write_text(DEEP)
    assert hipcc("-O1", str(folder / "deep.hip"), "-o", str(folder / "deep")) == 0
    return folder / "deep"


@pytest.mark.parametrize("engine", ["numpy", "native"])
@pytest.mark.parametrize(
    ("wanted", "said", "code"),
    [("0", "overflow", 1), ("16384", "16384 bytes, right", 0), ("200000", "refused", 2)],
)
def test_a_stack_is_as_large_as_the_program_asks(
    deep: Path, monkeypatch: pytest.MonkeyPatch, engine: str, wanted: str, said: str, code: int
) -> None:
    monkeypatch.setenv(ENVIRONMENT, engine)
    done = layoutprobe_run(deep, wanted)
    assert (done.stdout, done.returncode) == (said + "\n", code), done.stderr
    if said == "overflow":
        assert "memory/scratch-out-of-bounds" in done.stderr
        assert "hipLimitStackSize" in done.stderr
