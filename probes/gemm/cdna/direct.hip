// Direct to LDS: global memory -> LDS without a VGPR in between. Lanes write side by side, wherever their data comes
// from: padding is impossible, and LDS can be swizzled only by the address that each lane loads from.
//
// 64 x 64 block tile, K step 32 (64 bytes, 4 chunks of 16), four waves of one 32 x 32 tile each, two buffers. In LDS
// chunk c of line r holds the tile's chunk c ^ (r / 2 % 4): eight lines that are read together touch all banks.
// M and N may be ragged: lines beyond the end are the last one again, and nobody stores what comes of them. K is a
// multiple of 32.
//
// grid: (N+63)/64, (M+63)/64  block: 256
#include "mfma_helpers.h"

typedef F16_32x32 I;
constexpr int TILE = 64, BLOCK_K = 32, WAVES = 4;
#if __gfx950__
constexpr int LANE_BYTES = 16;
#else
constexpr int LANE_BYTES = 4;
#endif
constexpr int LINES = WAVE * LANE_BYTES / ROW_BYTES;  // that a wave loads at once
constexpr int LANES = ROW_BYTES / LANE_BYTES;         // of a line

typedef __attribute__((address_space(1))) void* Global;
typedef __attribute__((address_space(3))) void* Local;

__device__ inline int swizzle(int line, int chunk) { return chunk ^ (line / 2 % 4); }

// The tile's lines, dealt to the waves; a lane's data lands behind that of the lane before it.
__device__ inline void stage(char* lds, const _Float16* lines, int count, int depth, int line0, int k0) {
  const int at = lane_id() % LANES * LANE_BYTES;
#pragma unroll
  for (int first = 0; first < TILE; first += WAVES * LINES) {
    const int base = first + wave_id() * LINES, line = base + lane_id() / LANES;
    const int chunk = swizzle(line, at / CHUNK_BYTES);
    const int from = line0 + line < count ? line0 + line : count - 1;
    const char* source = (const char*)&lines[(size_t)from * depth + k0] + chunk * CHUNK_BYTES + at % CHUNK_BYTES;
    __builtin_amdgcn_global_load_lds((Global)source, (Local)(lds + base * ROW_BYTES), LANE_BYTES, 0, 0);
  }
}

__device__ inline I::Operand load_swizzled(const char* lds, int first, int k) {
  const int line = first + lane_id() % I::DIM;
  const int at = 2 * k + lane_id() / I::DIM * I::OPERAND_BYTES;
  return *(const I::Operand*)&lds[line * ROW_BYTES + swizzle(line, at / CHUNK_BYTES) * CHUNK_BYTES + at % CHUNK_BYTES];
}

// All waves' loads are in LDS.
__device__ inline void arrived() {
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(256)
direct_gemm(const _Float16* __restrict__ A, const _Float16* __restrict__ B, float* __restrict__ C, int M, int N, int K,
            float alpha, float beta)
{
  __shared__ alignas(16) char a_lds[2][TILE * ROW_BYTES];  // [m][k]
  __shared__ alignas(16) char b_lds[2][TILE * ROW_BYTES];  // [n][k]
  const int block_m = blockIdx.y * TILE, block_n = blockIdx.x * TILE;
  const int wave_m = wave_id() / 2 * 32, wave_n = wave_id() % 2 * 32;

  I::Sum sums[1][1] = {};
  stage(a_lds[0], A, M, K, block_m, 0);
  stage(b_lds[0], B, N, K, block_n, 0);
  arrived();
  int buffer = 0;
  for (int k = 0; k < K; k += BLOCK_K) {
    if (k + BLOCK_K < K) {
      stage(a_lds[buffer ^ 1], A, M, K, block_m, k + BLOCK_K);
      stage(b_lds[buffer ^ 1], B, N, K, block_n, k + BLOCK_K);
    }
#pragma unroll
    for (int kk = 0; kk < BLOCK_K; kk += I::DEPTH) {
      const I::Operand a = load_swizzled(a_lds[buffer], wave_m, kk);
      const I::Operand b = load_swizzled(b_lds[buffer], wave_n, kk);
      sums[0][0] = I::mma(a, b, sums[0][0]);
    }
    buffer ^= 1;
    arrived();
  }
  epilogue<I>({C, M, N, alpha, beta}, sums, block_m + wave_m, block_n + wave_n);
}
