#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
// smoothquant linear: y = (int8 x) (int8 w)^T * sx[row] * sw[col] + bias[col], half out
using i32x4 = int __attribute__((ext_vector_type(4)));
using i32x8 = int __attribute__((ext_vector_type(8)));
constexpr int WAVES = 4;

template <bool HAS_BIAS>
__global__ __launch_bounds__(32 * WAVES) void smoothquant_linear(const int8_t *__restrict__ x, const int8_t *__restrict__ w,
    const float *__restrict__ sx, const float *__restrict__ sw, const half *__restrict__ bias, half *__restrict__ y,
    int tokens, int out_features, int in_features) {
  __shared__ alignas(16) int8_t xs[16][32];
  const int lane = threadIdx.x & 31, wave = threadIdx.x >> 5;
  const int row0 = blockIdx.y * 16, col = (blockIdx.x * WAVES + wave) * 16 + (lane & 15);
  i32x8 acc = {};
  for (int k0 = 0; k0 < in_features; k0 += 32) {
    for (int i = threadIdx.x; i < 16 * 32; i += 32 * WAVES) {
      int r = row0 + i / 32, k = k0 + i % 32;
      xs[i / 32][i % 32] = (r < tokens && k < in_features) ? x[(size_t)r * in_features + k] : 0;
    }
    __syncthreads();
    for (int s = 0; s < 32; s += 16) {
      i32x4 a = *(const i32x4 *)&xs[lane & 15][s], b = {};
      if (col < out_features && k0 + s < in_features) b = *(const i32x4 *)&w[(size_t)col * in_features + k0 + s];
      acc = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, acc, false);
    }
    __syncthreads();
  }
  if (col >= out_features) return;
  for (int i = 0; i < 8; i++) {
    int row = row0 + 2 * i + (lane >> 4);
    if (row < tokens) {
      float v = acc[i] * sx[row] * sw[col];
      if (HAS_BIAS) v += __half2float(bias[col]);
      y[(size_t)row * out_features + col] = __float2half(v);
    }
  }
}

void smoothquant(const int8_t *x, const int8_t *w, const float *sx, const float *sw, const half *bias, half *y, int tokens,
                 int out_features, int in_features, hipStream_t s) {
  dim3 grid((out_features + 16 * WAVES - 1) / (16 * WAVES), (tokens + 15) / 16);
  if (bias)
    smoothquant_linear<true><<<grid, 32 * WAVES, 0, s>>>(x, w, sx, sw, bias, y, tokens, out_features, in_features);
  else
    smoothquant_linear<false><<<grid, 32 * WAVES, 0, s>>>(x, w, sx, sw, bias, y, tokens, out_features, in_features);
}
