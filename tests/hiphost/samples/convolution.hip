// A convolution in one dimension: coefficients in constant memory, input with its halo in LDS.
#include "sample.h"

constexpr int kRadius = 4, kBlock = 64, kBlocks = 4, kCount = kBlock * kBlocks;

__constant__ float coefficients[2 * kRadius + 1];

__global__ void convolve(const float* in, float* out) {
  __shared__ float tile[kBlock + 2 * kRadius];
  const int thread = threadIdx.x, first = blockIdx.x * kBlock - kRadius;
#if FAULT == 1
  for (int i = thread; i < kBlock + kRadius; i += kBlock)
#else
  for (int i = thread; i < kBlock + 2 * kRadius; i += kBlock)
#endif
#if FAULT == 2
    tile[i] = in[first + i];  // fault 2: memory/load-out-of-bounds
#else
    tile[i] = first + i < 0 || first + i >= kCount ? 0.0f : in[first + i];
#endif
#if FAULT != 3
  __syncthreads();
#endif
  float sum = 0.0f;
  for (int i = 0; i <= 2 * kRadius; i++) sum += coefficients[i] * tile[thread + i];  // fault 1: lds-safety/undefined-read, fault 3: races/read-after-write
  out[first + kRadius + thread] = sum;
}

int main() {
  float host[kCount], found[kCount], weights[2 * kRadius + 1], *in, *out;
  bool right = true;
  for (int i = 0; i < kCount; i++) host[i] = float(i * 5 % 23 - 9);
  for (int i = 0; i <= 2 * kRadius; i++) weights[i] = float(i * i - 7);
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(coefficients), weights, sizeof weights));
  convolve<<<kBlocks, kBlock>>>(in, out);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < kCount; i++) {
    float sum = 0.0f;
    for (int j = -kRadius; j <= kRadius; j++)
      if (i + j >= 0 && i + j < kCount) sum += weights[j + kRadius] * host[i + j];
    right = right && found[i] == sum;
  }
  (void)hipFree(in);
  (void)hipFree(out);
  return verdict(right);
}
