// y = A x: a wave for each row, its sum by shuffles.
#include "sample.h"

__global__ void multiply(const float* a, const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / warpSize) + threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
#if FAULT != 1
  if (row >= rows) return;
#endif
  float sum = 0.0f;
  for (int i = lane; i < columns; i += warpSize) sum += a[row * columns + i] * x[i];  // fault 1: memory/load-out-of-bounds
  for (int delta = warpSize / 2; delta; delta /= 2) sum += __shfl_down(sum, delta);
  if (lane == 0 && row < rows) y[row] = sum;
}

int main() {
  const int rows = 37, columns = 50;
  static float a[rows * columns], x[columns], y[rows];
  float *da, *dx, *dy;
  bool right = true;
  for (int i = 0; i < rows * columns; i++) a[i] = float(i * 5 % 11 - 5);
  for (int i = 0; i < columns; i++) x[i] = float(i % 7 - 3);
  CHECK(hipMalloc(&da, sizeof a));
  CHECK(hipMalloc(&dx, sizeof x));
  CHECK(hipMalloc(&dy, sizeof y));
  CHECK(hipMemcpy(da, a, sizeof a, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice));
  multiply<<<(rows + 3) / 4, 128>>>(da, dx, dy, rows, columns);
  (void)hipMemcpy(y, dy, sizeof y, hipMemcpyDeviceToHost);
  for (int row = 0; row < rows; row++) {
    float sum = 0.0f;
    for (int i = 0; i < columns; i++) sum += a[row * columns + i] * x[i];
    right = right && y[row] == sum;
  }
  for (float* one : {da, dx, dy}) (void)hipFree(one);
  return verdict(right);
}
