// W8A16: weights in e4m3 (OCP), one scale per 32x32 block as DeepSeek has them, activations bf16.
// RDNA3.5 has no fp8 instructions, so the bits are moved by hand.
#include <hip/hip_runtime.h>
#include <hip/hip_bfloat16.h>
#include <cstdint>

typedef short s16x16 __attribute__((ext_vector_type(16)));
typedef float f32x8 __attribute__((ext_vector_type(8)));

static constexpr int QBLOCK = 32;

__device__ static inline float e4m3_to_float(uint8_t v) {
  const uint32_t sign = (uint32_t)(v & 0x80) << 24;
  const uint32_t mag = v & 0x7f;
  if (mag == 0x7f) return __uint_as_float(0x7fc00000u);
  // exponent bias 7 -> 127 by a multiplication, which does subnormals as well
  return __uint_as_float(sign | __float_as_uint(__uint_as_float(mag << 20) * 0x1p120f));
}

__device__ static inline short to_bf16(float f) {
  uint32_t u = __float_as_uint(f);
  u += 0x7fff + ((u >> 16) & 1);
  return (short)(u >> 16);
}

struct W8A16Params {
  const uint16_t* act;      // [tokens, hidden] bf16
  const uint8_t* weight;    // [out_features, hidden] e4m3
  const float* weight_scale;// [out_features / 32, hidden / 32]
  uint16_t* out;            // [tokens, out_features] bf16
  uint32_t tokens, out_features, hidden;
};

__global__ __launch_bounds__(32) void w8a16_gemm(const W8A16Params p) {
  const uint32_t lane = threadIdx.x, l = lane % 16, half = lane / 16;
  const uint32_t row = blockIdx.x * 16 + l, col = blockIdx.y * 16 + l;
  const uint32_t scale_ld = p.hidden / QBLOCK;
  f32x8 acc{};
  for (uint32_t k = 0; k < p.hidden; k += 16) {
    const float scale = p.weight_scale[col / QBLOCK * scale_ld + k / QBLOCK];
    s16x16 a, b;
    for (int i = 0; i < 16; ++i) {
      a[i] = row < p.tokens ? p.act[row * p.hidden + k + i] : 0;
      b[i] = to_bf16(e4m3_to_float(p.weight[col * p.hidden + k + i]) * scale);
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, acc);
  }
  for (int i = 0; i < 8; ++i) {
    const uint32_t r = blockIdx.x * 16 + 2 * i + half;
    if (r < p.tokens) p.out[r * p.out_features + col] = to_bf16(acc[i]);
  }
}

extern "C" int w8a16(const void* act, const void* weight, const void* weight_scale, void* out, uint32_t tokens, uint32_t out_features,
                     uint32_t hidden, hipStream_t stream) {
  if (hidden % QBLOCK || out_features % QBLOCK) return -1;
  W8A16Params p{};
  p.act = static_cast<const uint16_t*>(act);
  p.weight = static_cast<const uint8_t*>(weight);
  p.weight_scale = static_cast<const float*>(weight_scale);
  p.out = static_cast<uint16_t*>(out);
  p.tokens = tokens;
  p.out_features = out_features;
  p.hidden = hidden;
  w8a16_gemm<<<dim3((tokens + 15) / 16, out_features / 16), 32, 0, stream>>>(p);
  return 0;
}
