// Kernels in the manner of public samples, which share LDS between waves. MISS leaves one barrier out.
#include <hip/hip_runtime.h>
#ifndef MISS
#define MISS 0
#endif
#define SYNC(n) do { if (MISS != n) __syncthreads(); } while (0)
__device__ float block_sum(float v, float* s) {
  for (int o = 16; o; o >>= 1) v += __shfl_xor(v, o, 32);
  const int w = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) s[w] = v;
  SYNC(1);
  float t = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0.f;
  if (w == 0) {
    for (int o = 16; o; o >>= 1) t += __shfl_xor(t, o, 32);
    if (threadIdx.x == 0) s[0] = t;
  }
  SYNC(2);
  return s[0];
}
extern "C" __global__ void layer_norm(const float* x, float* y, int d) {
  __shared__ float s[8];
  float m = 0.f;
  for (int i = threadIdx.x; i < d; i += blockDim.x) m += x[blockIdx.x * d + i];
  const float mean = block_sum(m, s) / d;
  SYNC(3);
  float v = 0.f;
  for (int i = threadIdx.x; i < d; i += blockDim.x) { const float z = x[blockIdx.x * d + i] - mean; v += z * z; }
  const float var = block_sum(v, s) / d;
  for (int i = threadIdx.x; i < d; i += blockDim.x) y[blockIdx.x * d + i] = (x[blockIdx.x * d + i] - mean) * rsqrtf(var + 1e-5f);
}
extern "C" __global__ void scan(const int* x, int* y, int n) {
  extern __shared__ int t[];
  const int i = threadIdx.x;
  t[i] = i < n ? x[i] : 0;
  SYNC(4);
  for (int o = 1; o < (int)blockDim.x; o *= 2) {
    const int v = i >= o ? t[i - o] : 0;
    SYNC(5);
    t[i] += v;
    SYNC(6);
  }
  if (i < n) y[i] = t[i];
}
extern "C" __global__ void transpose(const float* x, float* y, int n) {
  __shared__ float t[32][33];
  for (int r = threadIdx.y; r < 32; r += 8) t[r][threadIdx.x] = x[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + threadIdx.x];
  SYNC(7);
  for (int r = threadIdx.y; r < 32; r += 8) y[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + threadIdx.x] = t[threadIdx.x][r];
}
extern "C" __global__ void hist(const unsigned char* x, int* h, int n) {
  __shared__ int b[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) b[i] = 0;
  SYNC(8);
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&b[x[i]], 1);
  SYNC(9);
  for (int i = threadIdx.x; i < 256; i += blockDim.x) h[i] = b[i];
}
extern "C" __global__ void bitonic(int* x) {
  __shared__ int s[128];
  const int i = threadIdx.x;
  s[i] = x[i];
  SYNC(10);
  for (int k = 2; k <= 128; k *= 2)
    for (int j = k / 2; j; j /= 2) {
      const int p = i ^ j;
      if (p > i) {
        const bool up = (i & k) == 0;
        if ((s[i] > s[p]) == up) { const int z = s[i]; s[i] = s[p]; s[p] = z; }
      }
      SYNC(11);
    }
  x[i] = s[i];
}
extern "C" __global__ void stencil(const float* x, float* y, int n) {
  __shared__ float s[130];
  const int i = blockIdx.x * 128 + threadIdx.x;
  s[threadIdx.x + 1] = x[i];
  if (threadIdx.x == 0) s[0] = i ? x[i - 1] : 0.f;
  if (threadIdx.x == 127) s[129] = i + 1 < n ? x[i + 1] : 0.f;
  SYNC(12);
  y[i] = s[threadIdx.x] + s[threadIdx.x + 1] + s[threadIdx.x + 2];
}
