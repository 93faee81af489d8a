// y = softmax of each row of x, f32, one row a workgroup of 128: sums by lane exchange, then across waves
// through LDS.  grid: M  block: 128
// -DWRONG_BARRIER: the second exchange does not wait for the readers of the first.
#include <hip/hip_runtime.h>

template <bool MAX> __device__ static inline float across(float x, float* parts)
{
#pragma unroll
  for (int step = 16; step; step /= 2) {
    const float other = __shfl_xor(x, step);
    x = MAX ? fmaxf(x, other) : x + other;
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = parts[0];
#pragma unroll
  for (int i = 1; i < 4; ++i) x = MAX ? fmaxf(x, parts[i]) : x + parts[i];
#ifndef WRONG_BARRIER
  __syncthreads();
#endif
  return x;
}

extern "C" __global__ void __launch_bounds__(128) softmax(const float* __restrict__ x, float* __restrict__ y, int n)
{
  __shared__ float parts[4];
  const float* row = x + blockIdx.x * n;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < n; i += 128) top = fmaxf(top, row[i]);
  top = across<true>(top, parts);
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 128) sum += __expf(row[i] - top);
  sum = across<false>(sum, parts);
  for (int i = threadIdx.x; i < n; i += 128) y[blockIdx.x * n + i] = __expf(row[i] - top) / sum;
}
