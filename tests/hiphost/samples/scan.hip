// An inclusive sum over a block: within each wave by shuffles, across waves through LDS.
#include "sample.h"

constexpr int kBlock = 256;

__global__ void scan(const int* in, int* out) {
  __shared__ int sums[kBlock / 32];
  const int thread = threadIdx.x, lane = thread % warpSize, wave = thread / warpSize;
  int value = in[thread];
  for (int delta = 1; delta < warpSize; delta *= 2) {
    const int before = __shfl_up(value, delta);
    if (lane >= delta) value += before;
  }
#if FAULT == 1
  if (lane == warpSize - 1 && wave > 0) sums[wave] = value;
#else
  if (lane == warpSize - 1) sums[wave] = value;
#endif
#if FAULT != 2
  __syncthreads();
#endif
  for (int i = 0; i < wave; i++) value += sums[i];  // fault 1: lds-safety/undefined-read, fault 2: races/read-after-write
#if FAULT == 3
  out[thread + (thread == kBlock - 1)] = value;  // fault 3: epilogue/out-of-bounds
#else
  out[thread] = value;
#endif
}

int main() {
  int host[kBlock], found[kBlock], *in, *out, sum = 0;
  bool right = true;
  for (int i = 0; i < kBlock; i++) host[i] = i * 7 % 31 - 11;
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  scan<<<1, kBlock>>>(in, out);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < kBlock; i++) right = right && found[i] == (sum += host[i]);
  (void)hipFree(in);
  (void)hipFree(out);
  return verdict(right);
}
