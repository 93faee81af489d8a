// The last workgroup to arrive adds up what all have left, by loads that bypass the caches: they are data, no signals.
#include <hip/hip_runtime.h>
#ifndef BUG
#define BUG 0
#endif
// sum of n floats; the last workgroup adds up the partial sums (threadFenceReduction)
extern "C" __global__ void reduce(const float* x, float* part, unsigned* count, float* out, int n) {
  __shared__ float s[8];
  __shared__ bool last;
  float v = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down(v, o, 32);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    float t = 0.f;
    for (int i = 0; i < (int)blockDim.x / 32; ++i) t += s[i];
    part[blockIdx.x] = t;
    if (BUG != 1) __threadfence();
    const unsigned arrived = atomicAdd(count, 1u);
    last = arrived == gridDim.x - (BUG == 2 ? 2 : 1);
  }
  if (BUG != 3) __syncthreads();
  if (last) {
    if (BUG != 4) __threadfence();
    float t = 0.f;
    for (int i = threadIdx.x; i < (int)gridDim.x; i += blockDim.x) t += BUG == 5 ? part[i] : ((volatile float*)part)[i];
    for (int o = 16; o; o >>= 1) t += __shfl_down(t, o, 32);
    __syncthreads();
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = t;
    __syncthreads();
    if (threadIdx.x == 0) {
      t = 0.f;
      for (int i = 0; i < (int)blockDim.x / 32; ++i) t += s[i];
      *out = t;
      *count = 0;
    }
  }
}
