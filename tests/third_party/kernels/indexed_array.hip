// An array that the compiler keeps in registers, at indices that scalars hold.
#include <hip/hip_runtime.h>

#ifdef WRONG_INDEX
#define LAST 14
#else
#define LAST 15
#endif

extern "C" __global__ void indexed_array(const float* x, float* y, int shift, int steps) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float r[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) r[k] = x[row * 16 + k];
  for (int s = 0; s < steps; ++s) r[(shift + s) & LAST] += r[(3 * s + blockIdx.x) & 15];
#pragma unroll
  for (int k = 0; k < 16; ++k) y[row * 16 + k] = r[k];
}
