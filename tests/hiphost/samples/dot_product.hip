// A scalar product: partial sums in LDS, and the last block to come adds those of all.
#include "sample.h"

constexpr int kBlock = 128, kBlocks = 4;

__global__ void dot(const int* a, const int* b, int* partial, unsigned* done, int* result, int n) {
  __shared__ int sums[kBlock];
  __shared__ bool last;
  const int lane = threadIdx.x;
  int sum = 0;
  for (int i = blockIdx.x * kBlock + lane; i < n; i += kBlock * kBlocks) sum += a[i] * b[i];
  sums[lane] = sum;
  __syncthreads();
  for (int half = kBlock / 2; half; half /= 2) {
    if (lane < half) {
      sums[lane] += sums[lane + half];
#if FAULT == 1
      __syncthreads();  // fault 1: races/divergent-barrier
#endif
    }
#if FAULT != 1
    __syncthreads();
#endif
  }
  if (lane == 0) {
    partial[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicAdd(done, 1u) == kBlocks - 1;
  }
  __syncthreads();
  if (last && lane == 0) {
    __threadfence();
    int total = 0;
    for (int i = 0; i < kBlocks; i++) total += partial[i];
    *result = total;
  }
}

int main() {
  const int n = 1500;
  static int a[n], b[n];
  int *da, *db, *partial, *result, expected = 0, found = 0;
  unsigned* done;
  for (int i = 0; i < n; i++) a[i] = i % 13 - 6, b[i] = i % 7 - 3, expected += a[i] * b[i];
  CHECK(hipMalloc(&da, sizeof a));
  CHECK(hipMalloc(&db, sizeof b));
  CHECK(hipMalloc(&partial, kBlocks * sizeof(int)));
  CHECK(hipMalloc(&result, sizeof(int)));
  CHECK(hipMalloc(&done, sizeof(unsigned)));
  CHECK(hipMemcpy(da, a, sizeof a, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(db, b, sizeof b, hipMemcpyHostToDevice));
  CHECK(hipMemset(done, 0, sizeof(unsigned)));
  dot<<<kBlocks, kBlock>>>(da, db, partial, done, result, n);
  (void)hipMemcpy(&found, result, sizeof found, hipMemcpyDeviceToHost);
  for (int* one : {da, db, partial, result}) (void)hipFree(one);
  (void)hipFree(done);
  return verdict(found == expected);
}
