// Waves take work from a queue in LDS, 32 items at a time, as long as there is some: steps of the Collatz sequence.
#include "sample.h"

#include <vector>

__global__ void collatz(const unsigned *seed, unsigned *steps, unsigned *longest, int n) {
  __shared__ unsigned next, best;
  if (threadIdx.x == 0) next = best = 0;
#if FAULT != 1
  __syncthreads();
#endif
  const int lane = threadIdx.x % warpSize;
  for (;;) {
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(&next, (unsigned)warpSize);  // fault 1: races/write-after-write
    const unsigned i = __shfl(first, 0) + lane;
    if (i - lane >= (unsigned)n) break;
    if (i < (unsigned)n) {
      unsigned count = 0;
      for (unsigned long long x = seed[i]; x != 1; ++count) x = x & 1 ? 3 * x + 1 : x / 2;
      steps[i] = count;
      atomicMax(&best, count);
    }
  }
#if FAULT != 2
  __syncthreads();
#endif
  if (threadIdx.x == 0) *longest = best;  // fault 2: races/read-after-write
}

int main() {
  const int n = 500;
  std::vector<unsigned> seed(n), steps(n);
  for (int i = 0; i < n; ++i) seed[i] = i + 1;
  unsigned *on_seed, *on_steps, *on_longest, longest = 0, most = 0;
  CHECK(hipMalloc(&on_seed, n * sizeof(unsigned)));
  CHECK(hipMalloc(&on_steps, n * sizeof(unsigned)));
  CHECK(hipMalloc(&on_longest, sizeof longest));
  CHECK(hipMemcpy(on_seed, seed.data(), n * sizeof(unsigned), hipMemcpyHostToDevice));
  collatz<<<1, 128>>>(on_seed, on_steps, on_longest, n);
  CHECK(hipMemcpy(steps.data(), on_steps, n * sizeof(unsigned), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&longest, on_longest, sizeof longest, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) {
    unsigned count = 0;
    for (unsigned long long x = seed[i]; x != 1; ++count) x = x & 1 ? 3 * x + 1 : x / 2;
    right &= steps[i] == count;
    most = count > most ? count : most;
  }
  CHECK(hipFree(on_seed));
  CHECK(hipFree(on_steps));
  CHECK(hipFree(on_longest));
  return verdict(right && longest == most);
}
