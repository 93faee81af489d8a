// Flash attention, forward: o = softmax(q @ k.T / 8) @ v for each head; q, k, v, o are [head, length, 64] in
// f16, sums in f32. A workgroup of 4 waves takes 64 rows of q, and 32 keys at a time through LDS; every wave
// has 16 rows. Lengths are multiples of 64.  grid: length/64, heads  block: 128
// -DWRONG_RESCALE: the sums so far are not rescaled when a larger score comes.
#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));

constexpr int D = 64, KEYS = 32, PITCH = D + 8, PITCH_P = KEYS + 8;

__device__ static inline half16 line(const _Float16* at)
{
  half16 f;
  *(half8*)&f = *(const half8*)at;
  *((half8*)&f + 1) = *(const half8*)(at + 8);
  return f;
}

template <bool MAX> __device__ static inline float of_row(float x)  // over 16 lanes
{
#pragma unroll
  for (int step = 1; step < 16; step *= 2) {
    const float other = __shfl_xor(x, step);
    x = MAX ? fmaxf(x, other) : x + other;
  }
  return x;
}

extern "C" __global__ void __launch_bounds__(128)
attention(const _Float16* __restrict__ q, const _Float16* __restrict__ k, const _Float16* __restrict__ v,
          _Float16* __restrict__ o, int length)
{
  __shared__ __attribute__((aligned(16))) _Float16 tile_k[KEYS * PITCH], tile_v[KEYS * PITCH], p[4][16 * PITCH_P];
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const int base = blockIdx.y * length * D, row0 = blockIdx.x * 64 + wave * 16;

  half16 query[D / 16];
#pragma unroll
  for (int d = 0; d < D / 16; ++d) query[d] = line(q + base + (row0 + lane % 16) * D + 16 * d);
  float8 acc[D / 16] = {};
  float highest[8], total[8];
#pragma unroll
  for (int r = 0; r < 8; ++r) highest[r] = -INFINITY, total[r] = 0;

  for (int key0 = 0; key0 < length; key0 += KEYS) {
    __syncthreads();
    for (int i = threadIdx.x; i < KEYS * D / 8; i += 128) {
      const int row = i / (D / 8), col = i % (D / 8) * 8;
      *(half8*)&tile_k[row * PITCH + col] = *(const half8*)(k + base + (key0 + row) * D + col);
      *(half8*)&tile_v[row * PITCH + col] = *(const half8*)(v + base + (key0 + row) * D + col);
    }
    __syncthreads();
    float8 s[KEYS / 16] = {};
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j)
#pragma unroll
      for (int d = 0; d < D / 16; ++d)
        s[j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(
            query[d], line(&tile_k[(16 * j + lane % 16) * PITCH + 16 * d]), s[j]);
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const float above = fmaxf(highest[r], of_row<true>(fmaxf(s[0][r], s[1][r])) * 0.125f);
      const float e0 = __expf(s[0][r] * 0.125f - above), e1 = __expf(s[1][r] * 0.125f - above);
      const float shrink = __expf(highest[r] - above);
      total[r] = total[r] * shrink + of_row<false>(e0 + e1);
      highest[r] = above;
#ifndef WRONG_RESCALE
#pragma unroll
      for (int d = 0; d < D / 16; ++d) acc[d][r] *= shrink;
#endif
      p[wave][(2 * r + lane / 16) * PITCH_P + lane % 16] = (_Float16)e0;
      p[wave][(2 * r + lane / 16) * PITCH_P + 16 + lane % 16] = (_Float16)e1;
    }
    __builtin_amdgcn_wave_barrier();
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j) {
      const half16 weights = line(&p[wave][lane % 16 * PITCH_P + 16 * j]);
#pragma unroll
      for (int d = 0; d < D / 16; ++d) {
        half16 values;
#pragma unroll
        for (int i = 0; i < 16; ++i) values[i] = tile_v[(16 * j + i) * PITCH + 16 * d + lane % 16];
        acc[d] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(weights, values, acc[d]);
      }
    }
  }
#pragma unroll
  for (int d = 0; d < D / 16; ++d)
#pragma unroll
    for (int r = 0; r < 8; ++r)
      o[base + (row0 + 2 * r + lane / 16) * D + 16 * d + lane % 16] = (_Float16)(acc[d][r] / total[r]);
}
