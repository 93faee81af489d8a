#include <hip/hip_runtime.h>
__global__ __launch_bounds__(256) void softmax_rows(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float m = -INFINITY, s = 0;
  for (int i = lane; i < cols; i += 32) m = fmaxf(m, x[row * cols + i]);
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor(m, o));
  for (int i = lane; i < cols; i += 32) s += expf(x[row * cols + i] - m);
  for (int o = 16; o; o >>= 1) s += __shfl_xor(s, o);
  for (int i = lane; i < cols; i += 32) y[row * cols + i] = expf(x[row * cols + i] - m) / s;
}
