// 32x32 tile per wave on MI300, f16 in, f32 out. Row-major A and B.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <iostream>

#if defined(__HIP_DEVICE_COMPILE__) && !defined(__gfx942__)
#error "needs gfx942"
#endif

using float16x4 = __attribute__((__vector_size__(4 * sizeof(_Float16)))) _Float16;
using floatx16 = __attribute__((__vector_size__(16 * sizeof(float)))) float;

constexpr uint32_t LD = 40;

__global__ void gemm_mfma_32x32x8(const __half* a, const __half* b, float* d, uint32_t m, uint32_t n, uint32_t k) {
  __shared__ _Float16 tile_a[32 * LD], tile_b[32 * LD];
  const uint32_t t = threadIdx.x;
  const uint32_t i0 = blockIdx.y * 32, j0 = blockIdx.x * 32;
  floatx16 acc = {0};
  for (uint32_t kk = 0; kk < k; kk += 32) {
    for (uint32_t e = t; e < 32 * 32; e += 64) {
      const uint32_t r = e / 32, c = e % 32;
      tile_a[r * LD + c] = i0 + r < m && kk + c < k ? a[(i0 + r) * k + kk + c] : __half(0.f);
      tile_b[c * LD + r] = kk + r < k && j0 + c < n ? b[(kk + r) * n + j0 + c] : __half(0.f);
    }
    __syncthreads();
    for (uint32_t s = 0; s < 32; s += 8) {
      float16x4 fa, fb;
      for (int i = 0; i < 4; ++i) {
        fa[i] = tile_a[(t % 32) * LD + s + 4 * (t / 32) + i];
        fb[i] = tile_b[(t % 32) * LD + s + 4 * (t / 32) + i];
      }
      acc = __builtin_amdgcn_mfma_f32_32x32x8f16(fa, fb, acc, 0, 0, 0);
    }
    __syncthreads();
  }
  for (int i = 0; i < 16; ++i) {
    const uint32_t row = i0 + 8 * (i / 4) + 4 * (t / 32) + i % 4, col = j0 + t % 32;
    if (row < m && col < n) d[row * n + col] = acc[i];
  }
}

void gemm(const __half* a, const __half* b, float* d, uint32_t m, uint32_t n, uint32_t k) {
  const dim3 grid{(n + 31) / 32, (m + 31) / 32};
  gemm_mfma_32x32x8<<<grid, dim3{64}>>>(a, b, d, m, n, k);
  if (auto e = hipGetLastError(); e != hipSuccess) std::cerr << hipGetErrorString(e) << '\n';
}
