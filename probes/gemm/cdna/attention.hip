// Attention, forward, in fp8: O = softmax(Q * K^T / sqrt(128)) * V for each head; Q and O are [heads][rows][128], K and V
// [heads][keys][128], O is f32 (gfx950). Keys are a multiple of 64.
//
// Four waves of 32 rows of Q each. Scores are computed as S^T = K * Q^T and the output as O^T = V^T * P^T: then a lane
// has one row of Q throughout, and its maximum, its sum and its factors are its own. In S^T a lane has runs of 4 keys,
// as an operand it needs 16 in a row: two lanes, 32 apart, exchange what they have too much. V goes through LDS as in
// pv.h; K needs no transposing, and its rows are not permuted.
//
// grid: (rows+127)/128, heads  block: 256
#include "pv.h"

constexpr float LOG2E_BY_SQRT_HEAD = 0.12751743f;  // scores are exponents of 2

// x of this lane and x of the lane 32 apart, in an order that is the same for both.
__device__ inline Vector<float, 2> both(float x) {
  const unsigned mine = as<unsigned>(x);
  const auto pair = __builtin_amdgcn_permlane32_swap(mine, mine, false, false);
  return {as<float>(pair[0]), as<float>(pair[1])};
}

// 64 of the 128 columns of 32 lines, from `at` on. In LDS lines are swizzled.
__device__ inline I::Operand load_keys(const char* lds, int first, int at) {
  union { I::Operand all; Chunk each[2]; } operand;
#pragma unroll
  for (int run = 0; run < 2; ++run)
    operand.each[run] = *(const Chunk*)&lds[swizzled(first + lane_id() % 32, at + 32 * run + lane_id() / 32 * CHUNK_BYTES)];
  return operand.all;
}

// K in LDS: as V, but every row where it belongs.
__device__ inline void store_keys(char* lds, const Prefetched& next, int at) {
#pragma unroll
  for (int half = 0; half < TILE_BYTES / SWEEP; ++half)
    *(Chunk*)&lds[swizzled((half * SWEEP + at) / HEAD, at % HEAD)] = next.half[half];
}

// Weights of 64 keys as an operand: of each 32 keys, four words of four keys, which lie 8 apart in a lane.
__device__ inline I::Operand pack_weights(const float (&p)[2][16]) {
  union { I::Operand all; unsigned word[8]; } operand;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    unsigned word[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int low = __builtin_amdgcn_cvt_pk_fp8_f32(p[half][4 * i], p[half][4 * i + 1], 0, false);
      word[i] = __builtin_amdgcn_cvt_pk_fp8_f32(p[half][4 * i + 2], p[half][4 * i + 3], low, true);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const auto swapped = __builtin_amdgcn_permlane32_swap(word[i], word[i + 2], false, false);
      operand.word[4 * half + 2 * i] = swapped[0];
      operand.word[4 * half + 2 * i + 1] = swapped[1];
    }
  }
  return operand.all;
}

extern "C" __global__ void __launch_bounds__(THREADS)
attention(const unsigned char* __restrict__ Q, const unsigned char* __restrict__ K, const unsigned char* __restrict__ V,
          float* __restrict__ O, int rows, int keys)
{
  __shared__ alignas(16) char k_lds[2][TILE_BYTES], v_lds[2][TILE_BYTES];
  const int row = blockIdx.x * 128 + wave_id() * 32 + lane_id() % 32;
  Q += (size_t)blockIdx.y * rows * HEAD;
  O += (size_t)blockIdx.y * rows * HEAD;
  K += (size_t)blockIdx.y * keys * HEAD;
  V += (size_t)blockIdx.y * keys * HEAD;

  union { I::Operand all; Chunk each[2]; } query[2];
  const unsigned char* own = &Q[(size_t)(row < rows ? row : rows - 1) * HEAD + lane_id() / 32 * CHUNK_BYTES];
#pragma unroll
  for (int i = 0; i < 4; ++i) query[i / 2].each[i % 2] = *(const Chunk*)&own[32 * i];

  I::Sum sums[BLOCKS] = {};
  float highest = -INFINITY, total = 0;
  const int fetch_at = threadIdx.x * CHUNK_BYTES;
  Prefetched next_k = prefetch(K, fetch_at), next_v = prefetch(V, fetch_at);
  store_keys(k_lds[0], next_k, fetch_at);
  store_tile(v_lds[0], next_v, fetch_at);
  __syncthreads();
  int buffer = 0;
  for (int key = 0; key < keys; key += KEYS) {
    const bool more = key + KEYS < keys;
    if (more) {
      next_k = prefetch(&K[(size_t)(key + KEYS) * HEAD], fetch_at);
      next_v = prefetch(&V[(size_t)(key + KEYS) * HEAD], fetch_at);
    }
    I::Sum scores[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int at = 0; at < 2; ++at)
        scores[half] = I::mma(load_keys(k_lds[buffer], 32 * half, 64 * at), query[at].all, scores[half]);

    float above = highest, p[2][16], sum = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) above = fmaxf(above, scores[i / 16][i % 16] * LOG2E_BY_SQRT_HEAD);
    const auto highs = both(above);
    above = fmaxf(highs[0], highs[1]);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      p[i / 16][i % 16] = exp2f(scores[i / 16][i % 16] * LOG2E_BY_SQRT_HEAD - above);
      sum += p[i / 16][i % 16];
    }
    const auto parts = both(sum);
    const float shrink = exp2f(highest - above);
    total = total * shrink + (parts[0] + parts[1]);
    highest = above;

    const I::Operand weights = pack_weights(p);
    const Received raw = read_tile(v_lds[buffer]);
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block)
      sums[block] = I::mma(packed(raw, block), weights, sums[block] * shrink);
    if (more) {
      store_keys(k_lds[buffer ^ 1], next_k, fetch_at);
      store_tile(v_lds[buffer ^ 1], next_v, fetch_at);
    }
    buffer ^= 1;
    __syncthreads();
  }
  if (row >= rows) return;
#pragma unroll
  for (int block = 0; block < BLOCKS; ++block)
#pragma unroll
    for (int run = 0; run < 4; ++run) {
      Vector<float, 4> four;
#pragma unroll
      for (int i = 0; i < 4; ++i) four[i] = sums[block][4 * run + i] / total;
      *(Vector<float, 4>*)&O[(size_t)row * HEAD + block * I::DIM + 8 * run + lane_id() / 32 * 4] = four;
    }
}
