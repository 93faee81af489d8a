// y = (x - mean) / sqrt(variance + 1e-5) * w + b for each row, f16, one wave a row, four rows a workgroup.
// N even.  grid: (M + 3) / 4  block: 32, 4
// -DWRONG_BOUND: rows beyond M are not left out.
#include <hip/hip_runtime.h>

typedef _Float16 half2_ __attribute__((ext_vector_type(2)));

__device__ static inline float total(float x)
{
#pragma unroll
  for (int step = 1; step < 32; step *= 2) x += __shfl_xor(x, step);
  return x;
}

extern "C" __global__ void __launch_bounds__(128)
layernorm(const half2_* __restrict__ x, const half2_* __restrict__ w, const half2_* __restrict__ b,
          half2_* __restrict__ y, int m, int n)
{
  const int row = blockIdx.x * 4 + threadIdx.y, pairs = n / 2;
#ifndef WRONG_BOUND
  if (row >= m) return;
#endif
  x += row * pairs, y += row * pairs;
  float sum = 0;
  for (int i = threadIdx.x; i < pairs; i += 32) sum += (float)x[i].x + (float)x[i].y;
  const float mean = total(sum) / n;
  float squares = 0;
  for (int i = threadIdx.x; i < pairs; i += 32) {
    const float low = (float)x[i].x - mean, high = (float)x[i].y - mean;
    squares += low * low + high * high;
  }
  const float scale = rsqrtf(total(squares) / n + 1e-5f);
  for (int i = threadIdx.x; i < pairs; i += 32) {
    half2_ out;
    out.x = (_Float16)(((float)x[i].x - mean) * scale * (float)w[i].x + (float)b[i].x);
    out.y = (_Float16)(((float)x[i].y - mean) * scale * (float)w[i].y + (float)b[i].y);
    y[i] = out;
  }
}
