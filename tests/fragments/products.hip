// Products by the interface of rocWMMA: plain, cooperative, and transformed. Waves load parts of A and B into LDS.
#include <hip/hip_runtime.h>
#include <rocwmma/rocwmma.hpp>
using namespace rocwmma;

typedef fragment<matrix_a, 16, 16, 16, float16_t, row_major> A;
typedef fragment<matrix_b, 16, 16, 16, float16_t, col_major> B;
typedef fragment<accumulator, 16, 16, 16, float32_t> C;

// One tile of D = A * B, A [16][k] and B [k][16], both in rows; C comes and D goes in columns.
extern "C" __global__ void product(const float16_t* a, const float16_t* b, const float* c, float* d, int k) {
  A x;
  fragment<matrix_b, 16, 16, 16, float16_t, row_major> y;
  C sum;
  load_matrix_sync(sum, c, 16, mem_col_major);
  for (int at = 0; at < k; at += 16) {
    load_matrix_sync(x, a + at, k);
    load_matrix_sync(y, b + at * 16, 16);
    mma_sync(sum, x, y, sum);
  }
  store_matrix_sync(d, sum, 16, mem_col_major);
}

// The same by two waves: each brings a part of the fragments to LDS, and multiplies every other step.
extern "C" __global__ void together(const float16_t* a, const float16_t* b, float* d, int k) {
  __shared__ float16_t tile[2][256];
  __shared__ float part[2][256];
  const unsigned wave = threadIdx.x / kLanes;
  C sum;
  fill_fragment(sum, 0.f);
  for (int at = 0; at < k; at += 16) {
    A x;
    fragment<matrix_b, 16, 16, 16, float16_t, row_major> y;
    load_matrix_coop_sync<2>(x, a + at, k, wave);
    load_matrix_coop_sync<2>(y, b + at * 16, 16, wave);
    store_matrix_coop_sync<2>(tile[0], x, 16, wave);
    store_matrix_coop_sync<2>(tile[1], applyDataLayout<col_major>(y), 16, wave);
    __syncthreads();
    if (at / 16 % 2 == wave) {
      B z;
      load_matrix_sync(x, tile[0], 16);
      load_matrix_sync(z, tile[1], 16);
      mma_sync(sum, x, z, sum);
    }
    __syncthreads();
  }
  store_matrix_sync(part[wave], sum, 16, mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) d[i] = part[0][i] + part[1][i];
}

// B^T * A^T out of the registers of A and B.
extern "C" __global__ void transposed_product(const float16_t* a, const float16_t* b, float* d) {
  A x;
  B y;
  C sum;
  load_matrix_sync(x, a, 16);
  load_matrix_sync(y, b, 16);
  fill_fragment(sum, 0.f);
  mma_sync(sum, applyTranspose(y), applyTranspose(x), sum);
  store_matrix_sync(d, sum, 16, mem_row_major);
}
