// The PV stage of an fp8 attention kernel: O = P * V. P is [M][K], V is [K][128], K keys, a multiple of 64.
//
// Four waves of 32 rows each. V goes through LDS, see pv.h, in two buffers: while one tile is multiplied, the next one
// is on its way from global memory. A lane's part of P comes straight from there.
//
// grid: (M+127)/128  block: 256
#include "pv.h"

// 32 rows of P, 64 keys; rows beyond the end are the last one again.
__device__ inline I::Operand load_weights(const unsigned char* P, int M, int K, int first, int key) {
  union { I::Operand all; Chunk each[2]; } operand;
  const int row = first + lane_id() % 32 < M ? first + lane_id() % 32 : M - 1;
  const unsigned char* line = &P[(size_t)row * K + key + lane_id() / 32 * CHUNK_BYTES];
  operand.each[0] = *(const Chunk*)line;
  operand.each[1] = *(const Chunk*)&line[32];
  return operand.all;
}

extern "C" __global__ void __launch_bounds__(THREADS)
pv_stage(const unsigned char* __restrict__ P, const unsigned char* __restrict__ V, float* __restrict__ O, int M, int K)
{
  __shared__ alignas(16) char v_lds[2][TILE_BYTES];
  const int row0 = blockIdx.x * 128 + wave_id() * 32;

  I::Sum sums[1][BLOCKS] = {};
  int fetch_at = threadIdx.x * CHUNK_BYTES, buffer = 0;  // this thread's part of a tile, and the tile that is read
  Prefetched next = prefetch(V, fetch_at);
  store_tile(v_lds[0], next, fetch_at);
  __syncthreads();
  for (int key = 0; key < K; key += KEYS) {
    const bool more = key + KEYS < K;
    if (more) next = prefetch(&V[(size_t)(key + KEYS) * HEAD], fetch_at);
    const I::Operand p = load_weights(P, M, K, row0, key);
    const Received raw = read_tile(v_lds[buffer]);
#pragma unroll
    for (int block = 0; block < BLOCKS; ++block) sums[0][block] = I::mma(p, packed(raw, block), sums[0][block]);
    if (more) store_tile(v_lds[buffer ^ 1], next, fetch_at);
    buffer ^= 1;
    __syncthreads();
  }
  epilogue<I>({O, M, HEAD, 1.0f, 0.0f}, sums, row0, 0);
}
