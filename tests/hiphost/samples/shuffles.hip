// What lanes of a wave can ask each other: shuffles of each kind, votes and ballots.
#include "sample.h"

__global__ void shuffles(int* out) {
  const int lane = threadIdx.x, value = lane * lane % 23;
  int sum = value, before = value;
  for (int mask = warpSize / 2; mask; mask /= 2) sum += __shfl_xor(sum, mask);
  for (int delta = 1; delta < warpSize; delta *= 2) {
    const int other = __shfl_up(before, delta);
    if (lane >= delta) before += other;
  }
  const int turned = __shfl(value, warpSize - 1 - lane), within = __shfl_down(value, 1, 8);
  const int votes = __popcll(__ballot(value % 3 == 0)) + 100 * __any(value == 22) + 1000 * __all(value < 23);
  int* to = out + 5 * lane;
  to[0] = sum, to[1] = before, to[2] = turned, to[3] = within, to[4] = votes;
}

int main() {
  const int lanes = 32;
  int found[5 * lanes], values[lanes], *out, sum = 0, before = 0, threes = 0, largest = 0;
  bool right = true;
  for (int i = 0; i < lanes; i++) {
    sum += values[i] = i * i % 23;
    threes += values[i] % 3 == 0;
    if (values[i] > largest) largest = values[i];
  }
  CHECK(hipMalloc(&out, sizeof found));
  shuffles<<<1, lanes>>>(out);
  CHECK(hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost));
  for (int i = 0; i < lanes; i++) {
    const int* from = found + 5 * i;
    before += values[i];
    right = right && from[0] == sum && from[1] == before && from[2] == values[lanes - 1 - i];
    right = right && from[3] == (i % 8 == 7 ? values[i] : values[i + 1]);
    right = right && from[4] == threes + 100 * (largest == 22) + 1000;
  }
  CHECK(hipFree(out));
  return verdict(right);
}
