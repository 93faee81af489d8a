// A stencil of seven points; each block keeps its piece and a halo of three in LDS.
#include "sample.h"

constexpr int kBlock = 128, kRadius = 3;

__global__ void stencil(const int* in, int* out, int n) {
  __shared__ int piece[kBlock + 2 * kRadius];
  const int at = blockIdx.x * kBlock + threadIdx.x, local = threadIdx.x + kRadius;
  piece[local] = in[at];
#if FAULT == 1
  if (threadIdx.x < kRadius - 1) {
#else
  if (threadIdx.x < kRadius) {
#endif
    piece[local - kRadius] = at >= kRadius ? in[at - kRadius] : 0;
    piece[local + kBlock] = at + kBlock < n ? in[at + kBlock] : 0;
  }
#if FAULT != 2
  __syncthreads();
#endif
  int sum = 0;
  for (int i = -kRadius; i <= kRadius; i++)
    sum += piece[local + i];  // fault 1: lds-safety/undefined-read, fault 2: races/read-after-write
  out[at] = sum;
}

int main() {
  const int n = 4 * kBlock;
  int host[n], found[n], *in, *out;
  bool right = true;
  for (int i = 0; i < n; i++) host[i] = i * i % 29 - 9;
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  stencil<<<n / kBlock, kBlock>>>(in, out, n);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) {
    int sum = 0;
    for (int k = i - kRadius; k <= i + kRadius; k++) sum += k >= 0 && k < n ? host[k] : 0;
    right = right && found[i] == sum;
  }
  (void)hipFree(in);
  (void)hipFree(out);
  return verdict(right);
}
