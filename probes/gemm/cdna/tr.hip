// GEMM with B by its rows, [K][N], which lies in LDS as in memory: transposing loads make operands of it (gfx950).
// FORM is TR16 (f16), TR8 (fp8) or TR4 (fp4, two numbers in a byte: K and N are even).
//
// 64 x 64 block tile, 64 bytes of A's k a step, four waves of one 32 x 32 tile each. Lines of A are padded. Of B a row
// of k is a line, whose chunks of 16 bytes are XORed with its number: transposing loads read several rows at once.
//
// grid: (N+63)/64, (M+63)/64  block: 256
#include "transposing.h"

#ifndef FORM
#define FORM TR16
#endif
typedef FORM I;
typedef I::Element Element;

constexpr int TILE = 64, A_BYTES = ROW_BYTES + 16, B_BYTES = TILE * I::BITS / 8;
constexpr int BLOCK_K = 8 * ROW_BYTES / I::BITS, STEP = I::OPERAND_BYTES * 16 / I::BITS;  // numbers along k
constexpr int PER_ELEMENT = 8 * (int)sizeof(Element) / I::BITS, PER_CHUNK = CHUNK_BYTES / (int)sizeof(Element);
constexpr int A_CHUNKS = ROW_BYTES / CHUNK_BYTES, B_CHUNKS = B_BYTES / CHUNK_BYTES;  // of a line
typedef Vector<Element, PER_CHUNK> Chunk;

// Where byte `at` of row k of B lies.
__device__ inline int swizzled(int k, int at) {
  return k * B_BYTES + (at / CHUNK_BYTES ^ k % B_CHUNKS) * CHUNK_BYTES + at % CHUNK_BYTES;
}

// 32 columns of B from `column` on, and the k of one instruction.
__device__ inline I::Operand load_columns(const char* lds, int k, int column) {
  union { I::Operand all; Pair each[I::OPERAND_BYTES / 8]; } operand;
#pragma unroll
  for (int part = 0; part < I::OPERAND_BYTES / 8; ++part) {
    const int row = k + row_named<I::BITS>(part);
    operand.each[part] = read_transposed<I::BITS>(&lds[swizzled(row, column * I::BITS / 8 + byte_named<I::BITS>())]);
  }
  return operand.all;
}

extern "C" __global__ void __launch_bounds__(256)
tr_gemm(const Element* __restrict__ A, const Element* __restrict__ B, float* __restrict__ C, int M, int N, int K,
        float alpha, float beta)
{
  __shared__ alignas(16) char a_lds[TILE * A_BYTES];     // [m][k]
  __shared__ alignas(16) char b_lds[BLOCK_K * B_BYTES];  // [k][n]
  const int block_m = blockIdx.y * TILE, block_n = blockIdx.x * TILE;
  const int wave_m = wave_id() / 2 * 32, wave_n = wave_id() % 2 * 32;
  const int a_line = threadIdx.x / A_CHUNKS, a_chunk = threadIdx.x % A_CHUNKS;
  const int b_line = threadIdx.x / B_CHUNKS, b_chunk = threadIdx.x % B_CHUNKS;

  I::Sum sums[1][1] = {};
  for (int k = 0; k < K; k += BLOCK_K) {
    const Chunk a_next = load_chunk(A, M, K / PER_ELEMENT, block_m + a_line, k / PER_ELEMENT + a_chunk * PER_CHUNK);
    const Chunk b_next = load_chunk(B, K, N / PER_ELEMENT, k + b_line, block_n / PER_ELEMENT + b_chunk * PER_CHUNK);
    *(Chunk*)&a_lds[a_line * A_BYTES + a_chunk * CHUNK_BYTES] = a_next;
    *(Chunk*)&b_lds[swizzled(b_line, b_chunk * CHUNK_BYTES)] = b_next;
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < BLOCK_K; kk += STEP) {
      const I::Operand a = load_runs<I>(a_lds, A_BYTES, wave_m, kk * I::BITS / 8);
      const I::Operand b = load_columns(b_lds, kk, wave_n);
      sums[0][0] = I::mma(a, b, sums[0][0]);
    }
    __syncthreads();
  }
  epilogue<I>({C, M, N, alpha, beta}, sums, block_m + wave_m, block_n + wave_n);
}
