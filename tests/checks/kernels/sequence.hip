#include <hip/hip_runtime.h>

typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int8v __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

// Rows of x become bytes, with a scale for each: one wave a row.
extern "C" __global__ void quantise(const float* x, signed char* q, float* scale, int K) {
  const int row = blockIdx.x, lane = threadIdx.x;
  float most = 0;
  for (int k = lane; k < K; k += 32) most = fmaxf(most, fabsf(x[row * K + k]));
  for (int by = 16; by; by >>= 1) most = fmaxf(most, __shfl_xor(most, by, 32));
  const float s = most > 0 ? most / 127 : 1;
  for (int k = lane; k < K; k += 32) q[row * K + k] = (signed char)rintf(x[row * K + k] / s);
  if (lane == 0) scale[row] = s;
}

// y = scale * (q @ w), w of bytes: one wave a tile.
extern "C" __global__ void gemm_i8(const signed char* q, const float* scale, const signed char* w, float* y, int M, int N,
                                   int K) {
  const int row0 = blockIdx.y * 16, col0 = blockIdx.x * 16, lane = threadIdx.x;
  const int r = row0 + lane % 16, c = col0 + lane % 16;
  int8v acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    int4v a = {}, b = {};
    for (int i = 0; i < 16; ++i) {
      const int av = r < M && k0 + i < K ? q[r * K + k0 + i] : 0, bv = c < N && k0 + i < K ? w[(k0 + i) * N + c] : 0;
      a[i / 4] |= (av & 255) << 8 * (i % 4);
      b[i / 4] |= (bv & 255) << 8 * (i % 4);
    }
    acc = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, acc, false);
  }
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + 2 * i + lane / 16;
    if (row < M && c < N) y[row * N + c] = scale[row] * acc[i];
  }
}

// Parts of K, one a workgroup of z: partial products, one behind the other.
extern "C" __global__ void partial(const _Float16* A, const _Float16* B, float* parts, int M, int N, int K, int depth) {
  const int row0 = blockIdx.y * 16, col0 = blockIdx.x * 16, lane = threadIdx.x;
  const int r = row0 + lane % 16, c = col0 + lane % 16, first = blockIdx.z * depth, last = min(K, first + depth);
  float8 acc = {};
  for (int k0 = first; k0 < last; k0 += 16) {
    half16 a, b;
    for (int i = 0; i < 16; ++i) {
      a[i] = r < M && k0 + i < last ? A[r * K + k0 + i] : (_Float16)0.f;
      b[i] = c < N && k0 + i < last ? B[(k0 + i) * N + c] : (_Float16)0.f;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + 2 * i + lane / 16;
    if (row < M && c < N) parts[(blockIdx.z * M + row) * N + c] = acc[i];
  }
}

extern "C" __global__ void reduce(const float* parts, const float* bias, float* C, int M, int N, int splits) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  if (at >= M * N) return;
  float sum = bias[at % N];
  for (int s = 0; s < splits; ++s) sum += parts[s * M * N + at];
  C[at] = fmaxf(sum, 0.f);
}
