// The standard WMMA GEMM: C = A * B, f16 in, f32 out, any M, N, K.
//
// 128 x 128 block tile, K step 16, 256 threads. Eight waves stand 2 x 4 and take 64 x 32 of C each:
// 4 x 2 matrix tiles. LDS rows are padded to 24 halves, so that 16-byte accesses stay aligned and
// the lanes of one ds_load_b128 phase spread over the banks. B is transposed on its way into LDS.
// One LDS buffer and two barriers per step: the plain kernel that variants are measured against.
#include "wmma.h"

constexpr int kBlockM = 128, kBlockN = 128, kBlockK = 16;
constexpr int kThreads = 256;
constexpr int kWaveM = 64, kWaveN = 32;
constexpr int kTilesM = kWaveM / 16, kTilesN = kWaveN / 16;
constexpr int kStride = 24;  // halves from one LDS row to the next

struct Matrices {
  const u16* A;  // [M][K]
  const u16* B;  // [K][N]
  float* C;      // [M][N]
  int M, N, K;
};

// What one thread stages per K step: half a row of A, and 4 columns of two neighbouring rows of B,
// so that a (k, k+1) pair makes one dword of the transposed tile.
struct Staged {
  u16x8 a;
  u16x4 b_even, b_odd;
};

// Where a thread's elements lie in the block tile.
struct Place {
  int a_row, a_col, b_row, b_col;
};

// Uniform pointers to the first element of this K step's tiles; what a lane adds to them fits 32
// bits, so that its load takes a scalar base.
struct Tiles {
  const u16* a;
  const u16* b;
};

template <typename Vector>
__device__ inline Vector load_at(const u16* tile, u32 halves) {
  return *(const Vector*)((const char*)tile + halves * 2u);
}

__device__ inline Staged load_interior(const Matrices& m, Tiles t, Place at) {
  const u32 b_offset = at.b_row * m.N + at.b_col;
  return {load_at<u16x8>(t.a, at.a_row * m.K + at.a_col), load_at<u16x4>(t.b, b_offset),
          load_at<u16x4>(t.b, b_offset + m.N)};
}

// Element (row, col) of a tile of which rows x cols exist, or zero. It loads in either case, since
// element (0, 0) always exists: a select costs less than a divergent branch.
__device__ inline u16 load_or_zero(const u16* tile, int stride, int row, int col, int rows, int cols) {
  const bool inside = row < rows && col < cols;
  const u16 value = load_at<u16>(tile, inside ? row * stride + col : 0);
  return inside ? value : u16(0);
}

__device__ inline Staged load_checked(const Matrices& m, Tiles t, Place at, int rows, int cols, int depth) {
  Staged s;
#pragma unroll
  for (int i = 0; i < 8; ++i) s.a[i] = load_or_zero(t.a, m.K, at.a_row, at.a_col + i, rows, depth);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    s.b_even[i] = load_or_zero(t.b, m.N, at.b_row, at.b_col + i, depth, cols);
    s.b_odd[i] = load_or_zero(t.b, m.N, at.b_row + 1, at.b_col + i, depth, cols);
  }
  return s;
}

__device__ inline void store_to_lds(u16* a_lds, u16* b_lds, const Staged& s, Place at) {
  *(u16x8*)&a_lds[at.a_row * kStride + at.a_col] = s.a;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *(u32*)&b_lds[(at.b_col + i) * kStride + at.b_row] = s.b_even[i] | (u32)s.b_odd[i] << 16;
}

// A lane's k values of LDS row `row`: all 16, or on RDNA4 4 of each 8.
__device__ inline Fragment load_fragment(const u16* lds, int row) {
#if __GFX12__
  const u16x4* part = (const u16x4*)&lds[row * kStride] + thread_id() % kLanes / 16;
  return bits<Fragment>(__builtin_shufflevector(part[0], part[2], 0, 1, 2, 3, 4, 5, 6, 7));
#else
  const u16x8* chunk = (const u16x8*)&lds[row * kStride];
  return bits<Fragment>(__builtin_shufflevector(chunk[0], chunk[1], 0, 1, 2, 3, 4, 5, 6, 7,
                                                8, 9, 10, 11, 12, 13, 14, 15));
#endif
}

// A lane holds column lane % 16 of a tile.
template <bool Interior>
__device__ inline void store_tiles(const Matrices& m, const float8 (&acc)[kTilesM][kTilesN], int row0,
                                   int col0, int lane) {
  float* base = m.C + (long)row0 * m.N + col0;
  const u32 offset = lane / 16 * kHalfRows * m.N + lane % 16;
#pragma unroll
  for (int i = 0; i < kTilesM; ++i)
#pragma unroll
    for (int v = 0; v < 8; ++v)
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
        const int row = i * 16 + kVgprRows * v, col = j * 16;
        if (Interior || (row0 + row + lane / 16 * kHalfRows < m.M && col0 + col + lane % 16 < m.N))
          (base + (long)row * m.N + col)[offset] = acc[i][j][v];
      }
}

template <bool Interior>
__device__ inline void block_tile(const Matrices& m, u16* a_lds, u16* b_lds) {
  const int thread = thread_id(), lane = thread % kLanes, wave = thread / kLanes;
  const int block_m = group_y() * kBlockM, block_n = group_x() * kBlockN;
  const int wave_m = wave % 2 * kWaveM, wave_n = wave / 2 * kWaveN;
  const Place at{thread / 2, thread % 2 * 8, thread / 32 * 2, thread % 32 * 4};

  float8 acc[kTilesM][kTilesN] = {};
  for (int k = 0; k < m.K; k += kBlockK) {
    const Tiles tiles{m.A + (long)block_m * m.K + k, m.B + (long)k * m.N + block_n};
    const Staged staged = Interior
                              ? load_interior(m, tiles, at)
                              : load_checked(m, tiles, at, m.M - block_m, m.N - block_n, m.K - k);
    store_to_lds(a_lds, b_lds, staged, at);
    __syncthreads();

    Fragment a[kTilesM], b[kTilesN];
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) a[i] = load_fragment(a_lds, wave_m + i * 16 + lane % 16);
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) b[j] = load_fragment(b_lds, wave_n + j * 16 + lane % 16);
#pragma unroll
    for (int i = 0; i < kTilesM; ++i)
#pragma unroll
      for (int j = 0; j < kTilesN; ++j)
        acc[i][j] = WMMA(a[i], b[j], acc[i][j]);
    __syncthreads();  // nobody overwrites the tile while another wave still reads it
  }
  store_tiles<Interior>(m, acc, block_m + wave_m, block_n + wave_n, lane);
}

extern "C" __global__ void __block__(kThreads)
gemm(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C, int M, int N, int K)
{
  __shared__ alignas(16) u16 a_lds[kBlockM * kStride];  // [m][k]
  __shared__ alignas(16) u16 b_lds[kBlockN * kStride];  // [n][k]
  const Matrices m{(const u16*)A, (const u16*)B, C, M, N, K};

  // The same for every thread, so a scalar branch. Interior blocks never test a bound, and their
  // rows are aligned for the vector loads.
  const bool inside = (group_y() + 1) * kBlockM <= M && (group_x() + 1) * kBlockN <= N;
  if (inside && K % 16 == 0 && N % 8 == 0)
    block_tile<true>(m, a_lds, b_lds);
  else
    block_tile<false>(m, a_lds, b_lds);
}
