// Counts of bytes: a histogram of the block in LDS by atomics, then added to the one of all.
#include "sample.h"

constexpr int kBins = 64, kBlock = 128;

__global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned local[kBins];
#if FAULT == 1
  if (threadIdx.x < kBins / 2) local[threadIdx.x] = 0;
#else
  if (threadIdx.x < kBins) local[threadIdx.x] = 0;
#endif
#if FAULT != 2
  __syncthreads();
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
#if FAULT == 3
    local[in[i] % kBins]++;  // fault 3: races/write-after-read
#elif FAULT == 4
    atomicAdd(&local[in[i]], 1u);  // fault 4: lds-safety/out-of-bounds
#else
    atomicAdd(&local[in[i] % kBins], 1u);  // fault 2: races/write-after-write
#endif
  __syncthreads();
  if (threadIdx.x < kBins) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);  // fault 1: lds-safety/undefined-read
}

int main() {
  const int n = 2000;
  unsigned char host[n], *in;
  unsigned expected[kBins] = {}, found[kBins], *bins;
  bool right = true;
  for (int i = 0; i < n; i++) expected[(host[i] = (unsigned char)(i * i % 251)) % kBins]++;
  CHECK(hipMalloc(&in, n));
  CHECK(hipMalloc(&bins, sizeof found));
  CHECK(hipMemcpy(in, host, n, hipMemcpyHostToDevice));
  CHECK(hipMemset(bins, 0, sizeof found));
  histogram<<<3, kBlock>>>(in, bins, n);
  (void)hipMemcpy(found, bins, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < kBins; i++) right = right && found[i] == expected[i];
  (void)hipFree(in);
  (void)hipFree(bins);
  return verdict(right);
}
