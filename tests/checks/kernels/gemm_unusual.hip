// Kernels that cannot be followed, or have nothing to follow: without matrix instructions (SCALAR),
// with B scaled before the product (DEQUANTISED), with results that are squared (ACTIVATION), and with
// accumulators that are rescaled between two products (RESCALED). M, N, K multiples of 16.
// grid: N/16, M/16  block: 32
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(32)
gemm(const _Float16* A, const _Float16* B, float* C, int M, int N, int K)
{
  const int lane = threadIdx.x, m = blockIdx.y * 16 + lane % 16, n = blockIdx.x * 16 + lane % 16;
#if defined(SCALAR)
  for (int v = 0; v < 8; ++v) {
    const int row = blockIdx.y * 16 + 2 * v + lane / 16;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += (float)A[row * K + k] * (float)B[k * N + n];
    C[row * N + n] = sum;
  }
#else
  float8 acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    half16 a, b;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      a[k] = A[m * K + k0 + k];
      b[k] = B[(k0 + k) * N + n];
#ifdef DEQUANTISED
      b[k] = (b[k] - _Float16(3)) * _Float16(0.3);
#endif
    }
#ifdef RESCALED
    acc = acc * 0.5f;
#endif
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
#pragma unroll
  for (int v = 0; v < 8; ++v) {
    const float value = acc[v];
#ifdef ACTIVATION
    C[(blockIdx.y * 16 + 2 * v + lane / 16) * N + n] = value * value + 1.0f;
#else
    C[(blockIdx.y * 16 + 2 * v + lane / 16) * N + n] = value;
#endif
  }
#endif
}
