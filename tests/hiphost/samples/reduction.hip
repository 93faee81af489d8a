// A sum by trees: in LDS within a workgroup, by shuffles within a wave, and one atomic for each workgroup.
#include "sample.h"

constexpr int kBlock = 256;

__global__ void reduce(const int* in, int* total, int n) {
  __shared__ int partial[kBlock];
  const int thread = threadIdx.x, at = blockIdx.x * blockDim.x + thread;
  partial[thread] = at < n ? in[at] : 0;
#if FAULT != 1
  __syncthreads();
#endif
  for (int stride = kBlock / 2; stride >= warpSize; stride /= 2) {
    if (thread < stride) partial[thread] += partial[thread + stride];  // fault 1: races/read-after-write, fault 2: races/read-after-write
#if FAULT != 2
    __syncthreads();
#endif
  }
  if (thread < warpSize) {
    int sum = partial[thread];
    for (int delta = warpSize / 2; delta; delta /= 2) sum += __shfl_down(sum, delta);
#if FAULT == 3
    if (thread == 0) *total += sum;  // fault 3: races/global-overwrite
#else
    if (thread == 0) atomicAdd(total, sum);
#endif
  }
}

int main() {
  const int n = 1000;
  int *in, *total, expected = 0, found = 0, *host = (int*)malloc(n * sizeof(int));
  for (int i = 0; i < n; i++) expected += host[i] = i * i % 97 - 40;
  CHECK(hipMalloc(&in, n * sizeof(int)));
  CHECK(hipMalloc(&total, sizeof(int)));
  CHECK(hipMemcpy(in, host, n * sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemset(total, 0, sizeof(int)));
  reduce<<<(n + kBlock - 1) / kBlock, kBlock>>>(in, total, n);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(&found, total, sizeof(int), hipMemcpyDeviceToHost));
  CHECK(hipFree(in));
  CHECK(hipFree(total));
  free(host);
  return verdict(found == expected);
}
