// D = A @ B with specialised waves: wave 0 only copies tiles of A and B to LDS, waves 1 to 4 only multiply,
// each one a 16 x 32 strip of the 64 x 32 tile. Two buffers; one barrier hands over one buffer and takes
// back the other. A and B row-major. M multiple of 64, N of 32, K of 32.
// grid: N/32, M/64  block: 160
// -DWRONG_BUFFER: the producer fills the buffer from which the consumers still read.
#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));

constexpr int TM = 64, TN = 32, TK = 32, PITCH_A = TK + 8, PITCH_B = TN + 8;

extern "C" __global__ void __launch_bounds__(160)
gemm(const _Float16* __restrict__ A, const _Float16* __restrict__ B, float* __restrict__ D, int M, int N, int K)
{
  __shared__ __attribute__((aligned(16))) _Float16 tile_a[2][TM * PITCH_A];
  __shared__ __attribute__((aligned(16))) _Float16 tile_b[2][TK * PITCH_B];
  const int lane = threadIdx.x % 32, wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 32);
  const int m0 = blockIdx.y * TM, n0 = blockIdx.x * TN, steps = K / TK;

  if (wave == 0) {
    for (int step = 0; step < steps; ++step) {
#ifdef WRONG_BUFFER
      const int to = 0;
#else
      const int to = step % 2;
#endif
      for (int i = lane; i < TM * TK / 8; i += 32)
        *(half8*)&tile_a[to][i / (TK / 8) * PITCH_A + i % (TK / 8) * 8] =
            *(const half8*)(A + (m0 + i / (TK / 8)) * K + step * TK + i % (TK / 8) * 8);
      for (int i = lane; i < TK * TN / 8; i += 32)
        *(half8*)&tile_b[to][i / (TN / 8) * PITCH_B + i % (TN / 8) * 8] =
            *(const half8*)(B + (step * TK + i / (TN / 8)) * N + n0 + i % (TN / 8) * 8);
      __syncthreads();
    }
  } else {
    const int row = (wave - 1) * 16;
    float8 acc[2] = {};
    for (int step = 0; step < steps; ++step) {
      __syncthreads();
#ifdef WRONG_BUFFER
      const int from = 0;
#else
      const int from = step % 2;
#endif
#pragma unroll
      for (int k0 = 0; k0 < TK; k0 += 16) {
        half16 a;
        *((half8*)&a) = *(const half8*)&tile_a[from][(row + lane % 16) * PITCH_A + k0];
        *((half8*)&a + 1) = *(const half8*)&tile_a[from][(row + lane % 16) * PITCH_A + k0 + 8];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          half16 b;
#pragma unroll
          for (int k = 0; k < 16; ++k) b[k] = tile_b[from][(k0 + k) * PITCH_B + 16 * j + lane % 16];
          acc[j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc[j]);
        }
      }
    }
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int v = 0; v < 8; ++v)
        D[(m0 + row + 2 * v + lane / 16) * N + n0 + 16 * j + lane % 16] = acc[j][v];
  }
}
