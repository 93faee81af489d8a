// fp8 GEMM with 1x128 scales of A and 128x128 scales of B (DeepSeek), gfx12
#include <hip/hip_runtime.h>
#include <stdint.h>
typedef int v2i __attribute__((ext_vector_type(2)));
typedef float v8f __attribute__((ext_vector_type(8)));
#define CDIV(a, b) (((a) + (b) - 1) / (b))
__global__ __launch_bounds__(64) void w8a8_block_fp8(const uint8_t* __restrict__ A, const uint8_t* __restrict__ B, const float* __restrict__ As,
                               const float* __restrict__ Bs, __bf16* __restrict__ C, int M, int N, int K) {
  const int wave = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int m0 = blockIdx.y * 16, n0 = blockIdx.x * 32 + wave * 16;
  const int r = m0 + (lane & 15), c = n0 + (lane & 15), half = lane >> 4;
  const int kgroups = CDIV(K, 128);
  v8f total = {};
  for (int g = 0; g < kgroups; g++) {
    v8f acc = {};
    for (int kk = g * 128; kk < min(K, g * 128 + 128); kk += 16) {
      v2i a = {}, b = {};
      if (r < M) a = *(const v2i*)(A + (size_t)r * K + kk + half * 8);
      if (c < N) b = *(const v2i*)(B + (size_t)c * K + kk + half * 8);
      acc = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, acc);
    }
    const float bs = c < N ? Bs[(c / 128) * kgroups + g] : 0.f;
    for (int i = 0; i < 8; i++) {
      const int row = m0 + half * 8 + i;
      total[i] += acc[i] * (row < M ? As[row * kgroups + g] : 0.f) * bs;
    }
  }
  for (int i = 0; i < 8; i++) {
    const int row = m0 + half * 8 + i;
    if (row < M && c < N) C[(size_t)row * N + c] = (__bf16)total[i];
  }
}
extern "C" void run_w8a8_block_fp8(const void* A, const void* B, const float* As, const float* Bs, void* C, int M, int N, int K, hipStream_t stream) {
  if (K % 16) return;
  dim3 grid(CDIV(N, 32), CDIV(M, 16));
  w8a8_block_fp8<<<grid, 64, 0, stream>>>((const uint8_t*)A, (const uint8_t*)B, As, Bs, (__bf16*)C, M, N, K);
}
