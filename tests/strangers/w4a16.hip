// W4A16 with packed zero points: y[M][N] = x[M][K] * ((q - z) * s)
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdint>
typedef _Float16 fp16x16 __attribute__((ext_vector_type(16)));
typedef float fp32x8 __attribute__((ext_vector_type(8)));
template <int GROUP_SIZE> __global__ __launch_bounds__(128)
void gemm_w4a16(const _Float16* __restrict__ x, const uint32_t* __restrict__ qweight,   // [N][K/8]
                const _Float16* __restrict__ scales,                                     // [N][K/G]
                const uint32_t* __restrict__ qzeros,                                     // [N][K/G/8]
                _Float16* __restrict__ y, int M, int N, int K) {
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const int n0 = (blockIdx.x * 4 + wave) * 16, m0 = blockIdx.y * 16;
  const int n = n0 + lane % 16, m = m0 + lane % 16;
  const int groups = K / GROUP_SIZE, zrow = (groups + 7) / 8;
  fp32x8 acc = {0};
  for (int k = 0; k < K; k += 16) {
    fp16x16 a = {0}, b = {0};
    if (m < M)
#pragma unroll
      for (int i = 0; i < 16; ++i) a[i] = x[m * K + k + i];
    if (n < N) {
      const int g = k / GROUP_SIZE;
      const int z = (qzeros[n * zrow + g / 8] >> (g % 8 * 4)) & 0xF;
      const _Float16 s = scales[n * groups + g];
#pragma unroll
      for (int w = 0; w < 2; ++w) {
        const uint32_t q = qweight[n * (K / 8) + k / 8 + w];
#pragma unroll
        for (int i = 0; i < 8; ++i) b[w * 8 + i] = (_Float16)((int)((q >> (4 * i)) & 0xF) - z) * s;
      }
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  if (n < N)
    for (int i = 0; i < 8; ++i)
      if (m0 + 2 * i + lane / 16 < M) y[(m0 + 2 * i + lane / 16) * N + n] = (_Float16)acc[i];
}
void forward(const _Float16* x, const uint32_t* qw, const _Float16* s, const uint32_t* qz, _Float16* y, int M, int N, int K, hipStream_t stream) {
  gemm_w4a16<32><<<dim3((N + 63) / 64, (M + 15) / 16), 128, 0, stream>>>(x, qw, s, qz, y, M, N, K);
}
