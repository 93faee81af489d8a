// D += A @ B: every workgroup in z adds its share of K to D by atomics. bf16, A column-major, B row-major.
// D is zero before. M, N multiples of 16; K of 16 * gridDim.z.  grid: N/16, M/16, z  block: 32
// -DWRONG_STORE: the parts overwrite each other.
#include <hip/hip_runtime.h>

typedef short short16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(32)
gemm(const short* __restrict__ A, const short* __restrict__ B, float* __restrict__ D, int M, int N, int K)
{
  const int lane = threadIdx.x, m = blockIdx.y * 16 + lane % 16, n = blockIdx.x * 16 + lane % 16;
  const int share = K / gridDim.z, first = blockIdx.z * share;
  float8 acc = {};
  for (int k0 = first; k0 < first + share; k0 += 16) {
    short16 a, b;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      a[k] = A[(k0 + k) * M + m];
      b[k] = B[(k0 + k) * N + n];
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, acc);
  }
#pragma unroll
  for (int v = 0; v < 8; ++v) {
    float* const d = &D[(blockIdx.y * 16 + 2 * v + lane / 16) * N + n];
#ifdef WRONG_STORE
    *d = acc[v];
#else
    atomicAdd(d, acc[v]);
#endif
  }
}
