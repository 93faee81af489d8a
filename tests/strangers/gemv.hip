// decode-time mat-vec: one row of W per wave group, k split over 4 waves
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#define ROWS_PER_BLOCK 2
#define WAVES_PER_ROW 4
static __device__ float wave_sum(float v) {
  for (int mask = 16; mask; mask >>= 1) v += __shfl_xor(v, mask);
  return v;
}
extern "C" __global__ void gemv_f16(const half2* __restrict__ W, const half2* __restrict__ x, float* __restrict__ y,
                                    const int nrows, const int ncols) {
  __shared__ float part[ROWS_PER_BLOCK][WAVES_PER_ROW];
  const int wave = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int r = wave / WAVES_PER_ROW, s = wave % WAVES_PER_ROW;
  const int row = blockIdx.x * ROWS_PER_BLOCK + r;
  float acc = 0.f;
  if (row < nrows)
    for (int c = s * 32 + lane; c < ncols / 2; c += 32 * WAVES_PER_ROW) {
      const float2 w = __half22float2(W[row * (ncols / 2) + c]), v = __half22float2(x[c]);
      acc = fmaf(w.x, v.x, acc);
      acc = fmaf(w.y, v.y, acc);
    }
  acc = wave_sum(acc);
  if (lane == 0) part[r][s] = acc;
  __syncthreads();
  if (threadIdx.x < ROWS_PER_BLOCK && blockIdx.x * ROWS_PER_BLOCK + threadIdx.x < nrows) {
    float total = 0.f;
    for (int i = 0; i < WAVES_PER_ROW; ++i) total += part[threadIdx.x][i];
    y[blockIdx.x * ROWS_PER_BLOCK + threadIdx.x] = total;
  }
}
void gemv(const half2* W, const half2* x, float* y, int nrows, int ncols, hipStream_t st) {
  const int blocks = (nrows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
  gemv_f16<<<blocks, 32 * WAVES_PER_ROW * ROWS_PER_BLOCK, 0, st>>>(W, x, y, nrows, ncols);
}
