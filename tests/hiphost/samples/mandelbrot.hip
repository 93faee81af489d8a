// How soon points leave: loops of another length in each lane.
#include "sample.h"

constexpr int kWidth = 64, kHeight = 24, kMost = 40;

__host__ __device__ inline int steps(float x0, float y0) {
  float x = 0.0f, y = 0.0f;
  int count = 0;
  while (count < kMost && x * x + y * y < 4.0f) {
    const float next = __builtin_fmaf(x, x, __builtin_fmaf(-y, y, x0));
    y = __builtin_fmaf(2.0f * x, y, y0);
    x = next;
    count++;
  }
  return count;
}

__global__ void mandelbrot(unsigned char* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * kWidth + x] = (unsigned char)steps(x * (3.0f / kWidth) - 2.0f, y * (2.0f / kHeight) - 1.0f);
}

int main() {
  static unsigned char found[kWidth * kHeight];
  unsigned char* out;
  int differ = 0, inside = 0;
  CHECK(hipMalloc(&out, sizeof found));
  mandelbrot<<<dim3(kWidth / 32, kHeight / 4), dim3(32, 4)>>>(out);
  CHECK(hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost));
  for (int y = 0; y < kHeight; y++)
    for (int x = 0; x < kWidth; x++) {
      const int expected = steps(x * (3.0f / kWidth) - 2.0f, y * (2.0f / kHeight) - 1.0f);
      differ += found[y * kWidth + x] != expected;
      inside += expected == kMost;
    }
  CHECK(hipFree(out));
  return verdict(differ <= kWidth * kHeight / 100 && inside > 100);
}
