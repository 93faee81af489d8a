// One GEMM for every type: padded LDS, one buffer, two barriers a step. FORM names the matrix instruction.
//
// TILE x TILE block tile, 64 bytes of k a step, four waves in 2 x 2. Lines in LDS are 16 bytes longer than their
// 64 bytes, so that lanes spread over the banks.
//
// grid: (N+TILE-1)/TILE, (M+TILE-1)/TILE  block: 256
#include "mfma_helpers.h"

#ifndef FORM
#define FORM F16_32x32
#endif
#ifndef TILE
#define TILE 64
#endif
typedef FORM I;
typedef I::Element Element;

constexpr int THREADS = 256, LINE_BYTES = ROW_BYTES + 16;
constexpr int BLOCK_K = ROW_BYTES / (int)sizeof(Element), PER_CHUNK = CHUNK_BYTES / (int)sizeof(Element);
constexpr int CHUNKS = ROW_BYTES / CHUNK_BYTES;  // of a line
constexpr int TILES = TILE / 2 / I::DIM;         // of a wave, in each direction
typedef Vector<Element, PER_CHUNK> Chunk;

__device__ inline void stage(char* lds, const Element* lines, int count, int depth, int line0, int k0) {
#pragma unroll
  for (int step = 0; step < TILE * CHUNKS / THREADS; ++step) {
    const int i = step * THREADS + threadIdx.x, line = i / CHUNKS, chunk = i % CHUNKS;
    const Chunk values = load_chunk(lines, count, depth, line0 + line, k0 + chunk * PER_CHUNK);
    *(Chunk*)&lds[line * LINE_BYTES + chunk * CHUNK_BYTES] = values;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS)
mfma_gemm(const Element* __restrict__ A, const Element* __restrict__ B, I::Result* __restrict__ C, int M, int N, int K,
          I::Result alpha, I::Result beta)
{
  __shared__ alignas(16) char a_lds[TILE * LINE_BYTES];  // [m][k]
  __shared__ alignas(16) char b_lds[TILE * LINE_BYTES];  // [n][k]
  const int block_m = blockIdx.y * TILE, block_n = blockIdx.x * TILE;
  const int wave_m = wave_id() / 2 * (TILE / 2), wave_n = wave_id() % 2 * (TILE / 2);

  I::Sum sums[TILES][TILES] = {};
  for (int k = 0; k < K; k += BLOCK_K) {
    stage(a_lds, A, M, K, block_m, k);
    stage(b_lds, B, N, K, block_n, k);
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BLOCK_K; kk += I::DEPTH) {
      I::Operand a[TILES], b[TILES];
#pragma unroll
      for (int i = 0; i < TILES; ++i) a[i] = load_operand<I>(a_lds, LINE_BYTES, wave_m + i * I::DIM, kk);
#pragma unroll
      for (int j = 0; j < TILES; ++j) b[j] = load_operand<I>(b_lds, LINE_BYTES, wave_n + j * I::DIM, kk);
#pragma unroll
      for (int i = 0; i < TILES; ++i)
#pragma unroll
        for (int j = 0; j < TILES; ++j) sums[i][j] = I::mma(a[i], b[j], sums[i][j]);
    }
    __syncthreads();
  }
  epilogue<I>({C, M, N, alpha, beta}, sums, block_m + wave_m, block_n + wave_n);
}
