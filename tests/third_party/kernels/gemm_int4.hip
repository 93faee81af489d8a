// y = x @ dequantised(w): w has 4-bit weights, eight in a dword along K, with one f16 scale for each 32 of K
// and each column, and a zero point of 8. x is row-major M x K, w is N rows of K/8 dwords, scale is N x K/32.
// M, N multiples of 16, K of 32.  grid: N/16, M/16  block: 32
// -DWRONG_NIBBLES: neighbouring weights change places.
#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(32)
gemm(const _Float16* __restrict__ x, const unsigned* __restrict__ w, const _Float16* __restrict__ scale,
     float* __restrict__ y, int M, int N, int K)
{
  const int lane = threadIdx.x, m = blockIdx.y * 16 + lane % 16, n = blockIdx.x * 16 + lane % 16;
  float8 acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    const half16 a = *(const half16*)(x + m * K + k0);
    const _Float16 factor = scale[n * (K / 32) + k0 / 32];
    half16 b;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
#ifdef WRONG_NIBBLES
      const int place = k ^ 1;
#else
      const int place = k;
#endif
      const unsigned packed = w[n * (K / 8) + (k0 + place) / 8];
      b[k] = (_Float16)((int)(packed >> place % 8 * 4 & 15) - 8) * factor;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
#pragma unroll
  for (int v = 0; v < 8; ++v) y[(blockIdx.y * 16 + 2 * v + lane / 16) * N + n] = acc[v];
}
