// C = A * B: 64 x 64 tiles, K in steps of 32, two LDS buffers, XOR swizzle of 16-byte chunks. M and N are multiples
// of 64, K of 32. The macros plant the faults of docs/faults.md; without one it is right.
#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));

constexpr int TILE = 64, STEP = 32, CHUNK = 8, CHUNKS = STEP / CHUNK;

// Where chunk c of row r lies: rows are 64 bytes, chunks of a row change places by the row.
__device__ inline int chunk_at(int r, int c) { return r * STEP + ((c ^ (r >> 1)) & (CHUNKS - 1)) * CHUNK; }

__device__ inline void stage(_Float16 *tile, const _Float16 *from, int ld, int k0) {
  // 128 threads, 256 chunks
  for (int i = 0; i < 2; ++i) {
    const int id = threadIdx.x + i * 128, r = id / CHUNKS, c = id % CHUNKS;
    *(half8 *)(tile + chunk_at(r, c)) = *(const half8 *)(from + (size_t)r * ld + k0 + c * CHUNK);
  }
}

__device__ inline half16 fragment(const _Float16 *tile, int r, int kk) {
  half16 f;
#if SWIZZLE_ON_ONE_SIDE
  for (int i = 0; i < 16; ++i) f[i] = tile[r * STEP + kk + i];
#else
  *(half8 *)&f = *(const half8 *)(tile + chunk_at(r, kk / CHUNK));
  *((half8 *)&f + 1) = *(const half8 *)(tile + chunk_at(r, kk / CHUNK + 1));
#endif
  return f;
}

extern "C" __global__ void gemm(const _Float16 *A, const _Float16 *BT, float *C, int M, int N, int K) {
  __shared__ _Float16 a_lds[2][TILE * STEP], b_lds[2][TILE * STEP];
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const int wave_m = wave / 2 * 32, wave_n = wave % 2 * 32;
  const _Float16 *a = A + (size_t)blockIdx.y * TILE * K, *b = BT + (size_t)blockIdx.x * TILE * K;
  float8 acc[2][2] = {};
  stage(a_lds[0], a, K, 0);
  stage(b_lds[0], b, K, 0);
  for (int k0 = 0, buf = 0; k0 < K; k0 += STEP, buf ^= 1) {
#if !BARRIER_MISSING
    __syncthreads();
#endif
    if (k0 + STEP < K) {
      stage(a_lds[buf ^ 1], a, K, k0 + STEP);
      stage(b_lds[buf ^ 1], b, K, k0 + STEP);
    }
    for (int kk = 0; kk < STEP; kk += 16) {
      half16 fa[2], fb[2];
      for (int i = 0; i < 2; ++i) {
#if A_BY_COLUMNS
        const int k = kk + lane % 16;
        for (int e = 0; e < 16; ++e)
          fa[i][e] = a_lds[buf][chunk_at(wave_m + i * 16 + e, k / CHUNK) + k % CHUNK];
#else
        fa[i] = fragment(a_lds[buf], wave_m + i * 16 + lane % 16, kk);
#endif
        fb[i] = fragment(b_lds[buf], wave_n + i * 16 + lane % 16, kk);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          acc[i][j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(fa[i], fb[j], acc[i][j]);
    }
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int v = 0; v < 8; ++v) {
#if OTHER_EPILOGUE
        const int row = blockIdx.y * TILE + wave_m + i * 16 + v + lane / 16 * 8;
#else
        const int row = blockIdx.y * TILE + wave_m + i * 16 + 2 * v + lane / 16;
#endif
        const int col = blockIdx.x * TILE + wave_n + j * 16 + lane % 16;
        C[(size_t)row * N + col] = acc[i][j][v];
      }
}
