// x [tokens, in] fp16, qweight [out, in / 8] int32 (nibbles along in), scales [out, in / GROUP], zeros [out, in / GROUP] fp16
#include "dequant.cuh"

namespace w4 {

template <int GROUP, int WAVES>
__global__ __launch_bounds__(WAVES * 32) void gemm_w4_kernel(const _Float16* __restrict__ x, const uint32_t* __restrict__ qweight,
                                                             const _Float16* __restrict__ scales, const _Float16* __restrict__ zeros,
                                                             _Float16* __restrict__ out, const int tokens, const int in_features,
                                                             const int out_features) {
  __shared__ _Float16 sw[WAVES * 16][16 + 8];
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const int col0 = blockIdx.x * WAVES * 16, row0 = blockIdx.y * 16;
  const int groups = in_features / GROUP;
  float8 acc = {};
  for (int k0 = 0; k0 < in_features; k0 += 16) {
    for (int e = threadIdx.x; e < WAVES * 16 * 2; e += WAVES * 32) {
      const int c = e >> 1, part = e & 1;
      const int col = col0 + c;
      if (col < out_features) {
        const int g = (k0 + part * 8) / GROUP;
        Dequant<GROUP>::run(qweight[(size_t)col * (in_features / 8) + k0 / 8 + part], scales[col * groups + g], zeros[col * groups + g],
                            &sw[c][part * 8]);
      } else {
        for (int i = 0; i < 8; ++i) sw[c][part * 8 + i] = (_Float16)0;
      }
    }
    __syncthreads();
    half16 fa = {}, fb;
    const int row = row0 + (lane & 15);
    if (row < tokens)
      for (int i = 0; i < 16; ++i) fa[i] = x[(size_t)row * in_features + k0 + i];
    for (int i = 0; i < 16; ++i) fb[i] = sw[wave * 16 + (lane & 15)][i];
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(fa, fb, acc);
    __syncthreads();
  }
  const int col = col0 + wave * 16 + (lane & 15);
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + 2 * i + lane / 16;
    if (row < tokens && col < out_features) out[(size_t)row * out_features + col] = (_Float16)acc[i];
  }
}

void gemm_w4(const _Float16* x, const uint32_t* qweight, const _Float16* scales, const _Float16* zeros, _Float16* out, int tokens,
             int in_features, int out_features, hipStream_t stream) {
  constexpr int kWaves = 2;
  dim3 grid((out_features + kWaves * 16 - 1) / (kWaves * 16), (tokens + 15) / 16);
  gemm_w4_kernel<64, kWaves><<<grid, kWaves * 32, 0, stream>>>(x, qweight, scales, zeros, out, tokens, in_features, out_features);
}

}  // namespace w4
