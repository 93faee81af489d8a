// An image whose rows begin at multiples of the pitch: copied row by row, mirrored in a kernel.
#include "sample.h"

constexpr int kWidth = 50, kHeight = 20;

__global__ void mirror(const float* in, float* out, size_t pitch) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= kWidth) return;
#if FAULT == 1
  const float* row = in + y * pitch;
#else
  const float* row = (const float*)((const char*)in + y * pitch);
#endif
  ((float*)((char*)out + y * pitch))[x] = row[kWidth - 1 - x];  // fault 1: memory/load-out-of-bounds
}

int main() {
  static float host[kHeight][kWidth], found[kHeight][kWidth];
  float *in, *out;
  size_t pitch = 0, same = 0;
  bool right = true;
  for (int y = 0; y < kHeight; y++)
    for (int x = 0; x < kWidth; x++) host[y][x] = float(y * 100 + x);
  CHECK(hipMallocPitch((void**)&in, &pitch, sizeof host[0], kHeight));
  CHECK(hipMallocPitch((void**)&out, &same, sizeof host[0], kHeight));
  CHECK(hipMemcpy2D(in, pitch, host, sizeof host[0], sizeof host[0], kHeight, hipMemcpyHostToDevice));
  mirror<<<dim3(1, kHeight), 64>>>(in, out, pitch);
  (void)hipMemcpy2D(found, sizeof found[0], out, pitch, sizeof found[0], kHeight, hipMemcpyDeviceToHost);
  for (int y = 0; y < kHeight; y++)
    for (int x = 0; x < kWidth; x++) right = right && found[y][x] == host[y][kWidth - 1 - x];
  (void)hipFree(in);
  (void)hipFree(out);
  return verdict(right && pitch == same);
}
