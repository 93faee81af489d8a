#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdint>
typedef int v4i __attribute__((ext_vector_type(4)));
typedef int v8i __attribute__((ext_vector_type(8)));

// y[m][n] = half(scale_x[m] * scale_w[n] * sum_k x[m][k] * w[n][k])
extern "C" __global__ void w8a8_linear(const int8_t* __restrict__ x, const int8_t* __restrict__ w, const float* __restrict__ scale_x,
                            const float* __restrict__ scale_w, __half* __restrict__ y, int M, int N, int K) {
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const int m0 = blockIdx.y * 32 + wave * 16, n0 = blockIdx.x * 16;
  const int r = m0 + lane % 16, c = n0 + lane % 16;
  v8i acc = {};
  for (int k = 0; k < K; k += 16) {
    v4i a = {}, b = {};
    if (r < M) a = *reinterpret_cast<const v4i*>(x + (size_t)r * K + k);
    if (c < N) b = *reinterpret_cast<const v4i*>(w + (size_t)c * K + k);
    acc = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, acc, false);
  }
  for (int i = 0; i < 8; ++i) {
    int row = m0 + 2 * i + lane / 16;
    if (row < M && c < N) y[(size_t)row * N + c] = __float2half(acc[i] * scale_x[row] * scale_w[c]);
  }
}

void w8a8(const int8_t* x, const int8_t* w, const float* sx, const float* sw, __half* y, int M, int N, int K) {
  w8a8_linear<<<dim3((N + 15) / 16, (M + 31) / 32), 64>>>(x, w, sx, sw, y, M, N, K);
}
