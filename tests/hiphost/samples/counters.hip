// Blocks append what they keep to one list, whose length is a counter in global memory; the last block to arrive adds up
// the list, and sets the counters to zero for the next launch.
#include "sample.h"

#include <vector>

__global__ void append(const int *in, int *out, unsigned *length, unsigned *arrived, int *total, int n) {
#if FAULT == 1
  if (blockIdx.x == 0 && threadIdx.x == 0) *length = 0;
#endif
  __shared__ unsigned base, mine;
  __shared__ bool last;
  if (threadIdx.x == 0) mine = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keep = i < n && in[i] % 3 == 0;
  unsigned at = 0;
  if (keep) at = atomicAdd(&mine, 1u);
  __syncthreads();
  if (threadIdx.x == 0) base = atomicAdd(length, mine);  // fault 1: races/store-and-add
  __syncthreads();
  if (keep) out[base + at] = in[i];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  int sum = 0;
  for (unsigned k = threadIdx.x; k < *(volatile unsigned *)length; k += blockDim.x) sum += out[k];
  atomicAdd(total, sum);
  __syncthreads();
  if (threadIdx.x == 0) *arrived = *length = 0;
}

int main() {
  const int n = 900;
  std::vector<int> in(n);
  int want = 0, total = 0;
  for (int i = 0; i < n; ++i) want += (in[i] = i) % 3 == 0 ? i : 0;
  int *on_in, *on_out, *on_total;
  unsigned *counters;
  CHECK(hipMalloc(&on_in, n * sizeof(int)));
  CHECK(hipMalloc(&on_out, n * sizeof(int)));
  CHECK(hipMalloc(&on_total, sizeof total));
  CHECK(hipMalloc(&counters, 2 * sizeof(unsigned)));
  CHECK(hipMemcpy(on_in, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemset(counters, 0, 2 * sizeof(unsigned)));
  CHECK(hipMemset(on_total, 0, sizeof total));
  for (int k = 0; k < 2; ++k) append<<<(n + 127) / 128, 128>>>(on_in, on_out, counters, counters + 1, on_total, n);
  CHECK(hipMemcpy(&total, on_total, sizeof total, hipMemcpyDeviceToHost));
  CHECK(hipFree(on_in));
  CHECK(hipFree(on_out));
  CHECK(hipFree(on_total));
  CHECK(hipFree(counters));
  return verdict(total == 2 * want);
}
