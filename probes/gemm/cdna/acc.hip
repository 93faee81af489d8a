// Accumulators in AccVGPRs: compilers avoid them where there are VGPRs left, so the matrix instruction is inline
// assembly with the "a" constraint. B is given by its rows, [K][N], and is transposed on its way to LDS.
//
// 64 x 64 block tile, K step 32, four waves of one 32 x 32 tile each.
//
// grid: (N+63)/64, (M+63)/64  block: 256
#include "mfma_helpers.h"

typedef Instruction<32, 8, _Float16, float> I;
constexpr int TILE = 64, BLOCK_K = 32, LINE_BYTES = 2 * BLOCK_K + 16;
typedef Vector<_Float16, 8> Chunk;

// Four products, one K step, in one statement: between two of them the compiler might copy the accumulator, and around
// inline assembly it does not wait. Two states after a VALU that writes an operand; none between products of one
// accumulator; and behind the last one until it can be read.
__device__ inline void multiply_add(const I::Operand (&a)[4], const I::Operand (&b)[4], I::Sum& sum) {
  typedef Vector<unsigned, 2> Registers;
  asm volatile(
      "s_nop 1\n\t"
      "v_mfma_f32_32x32x8_f16 %0, %1, %5, %0\n\t"
      "v_mfma_f32_32x32x8_f16 %0, %2, %6, %0\n\t"
      "v_mfma_f32_32x32x8_f16 %0, %3, %7, %0\n\t"
      "v_mfma_f32_32x32x8_f16 %0, %4, %8, %0\n\t"
      "s_nop 15"
      : "+a"(sum)
      : "v"(as<Registers>(a[0])), "v"(as<Registers>(a[1])), "v"(as<Registers>(a[2])), "v"(as<Registers>(a[3])),
        "v"(as<Registers>(b[0])), "v"(as<Registers>(b[1])), "v"(as<Registers>(b[2])), "v"(as<Registers>(b[3])));
}

// 8 neighbours of a row, with zeros for those that do not exist.
__device__ inline Chunk load_row8(const _Float16* matrix, int rows, int cols, int row, int col) {
  Chunk values = {};
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (row < rows && col + i < cols) values[i] = matrix[(size_t)row * cols + col + i];
  return values;
}

extern "C" __global__ void __launch_bounds__(256)
acc_gemm(const _Float16* __restrict__ A, const _Float16* __restrict__ B, float* __restrict__ C, int M, int N, int K,
         float alpha, float beta)
{
  __shared__ alignas(16) char a_lds[TILE * LINE_BYTES];  // [m][k]
  __shared__ alignas(16) char b_lds[TILE * LINE_BYTES];  // [n][k]
  const int block_m = blockIdx.y * TILE, block_n = blockIdx.x * TILE;
  const int wave_m = wave_id() / 2 * 32, wave_n = wave_id() % 2 * 32;
  const int a_row = threadIdx.x / 4, a_col = threadIdx.x % 4 * 8;
  const int b_row = threadIdx.x / 8, b_col = threadIdx.x % 8 * 8;

  I::Sum sums[1][1] = {};
  for (int k = 0; k < K; k += BLOCK_K) {
    const Chunk a_next = load_row8(A, M, K, block_m + a_row, k + a_col);
    const Chunk b_next = load_row8(B, K, N, k + b_row, block_n + b_col);
    *(Chunk*)&a_lds[a_row * LINE_BYTES + 2 * a_col] = a_next;
#pragma unroll
    for (int i = 0; i < 8; ++i) *(_Float16*)&b_lds[(b_col + i) * LINE_BYTES + 2 * b_row] = b_next[i];
    __syncthreads();
    I::Operand a[4], b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a[i] = load_operand<I>(a_lds, LINE_BYTES, wave_m, i * I::DEPTH);
      b[i] = load_operand<I>(b_lds, LINE_BYTES, wave_n, i * I::DEPTH);
    }
    multiply_add(a, b, sums[0][0]);
    __syncthreads();
  }
  epilogue<I>({C, M, N, alpha, beta}, sums, block_m + wave_m, block_n + wave_n);
}
