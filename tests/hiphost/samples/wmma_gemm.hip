// C = A B of halves with the matrix unit: a wave for each tile of 16 x 16, fragments loaded as gfx11 wants them.
#include <hip/hip_fp16.h>

#include "sample.h"

typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
typedef float Float8 __attribute__((ext_vector_type(8)));

constexpr int kSize = 32;

__global__ void gemm(const _Float16* a, const _Float16* b, float* c) {
  __shared__ _Float16 tile[16 * 16];
  const int lane = threadIdx.x % 16, high = threadIdx.x / 16, row = blockIdx.y * 16, column = blockIdx.x * 16;
  Float8 sums = {};
  for (int k = 0; k < kSize; k += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = b[(k + i / 16) * kSize + column + i % 16];
    __syncthreads();
    Half16 fragment_a, fragment_b;
    for (int i = 0; i < 16; i++) {
      fragment_a[i] = a[(row + lane) * kSize + k + i];  // fault 1: memory/load-out-of-bounds
      fragment_b[i] = tile[i * 16 + lane];
    }
    sums = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(fragment_a, fragment_b, sums);
    __syncthreads();
  }
  for (int i = 0; i < 8; i++) c[(row + 2 * i + high) * kSize + column + lane] = sums[i];
}

int main() {
  const int n = kSize * kSize;
  static _Float16 a[n], b[n];
  static float c[n];
  _Float16 *da, *db;
  float* dc;
  bool right = true;
  for (int i = 0; i < n; i++) a[i] = _Float16(i * 3 % 7 - 3), b[i] = _Float16(i * 5 % 9 - 4);
  CHECK(hipMalloc(&da, sizeof a / (FAULT == 1 ? 2 : 1)));
  CHECK(hipMalloc(&db, sizeof b));
  CHECK(hipMalloc(&dc, sizeof c));
  CHECK(hipMemcpy(da, a, sizeof a / (FAULT == 1 ? 2 : 1), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(db, b, sizeof b, hipMemcpyHostToDevice));
  gemm<<<dim3(kSize / 16, kSize / 16), 32>>>(da, db, dc);
  (void)hipMemcpy(c, dc, sizeof c, hipMemcpyDeviceToHost);
  for (int y = 0; y < kSize; y++)
    for (int x = 0; x < kSize; x++) {
      float sum = 0.0f;
      for (int k = 0; k < kSize; k++) sum += float(a[y * kSize + k]) * float(b[k * kSize + x]);
      right = right && c[y * kSize + x] == sum;
    }
  (void)hipFree(da);
  (void)hipFree(db);
  (void)hipFree(dc);
  return verdict(right);
}
