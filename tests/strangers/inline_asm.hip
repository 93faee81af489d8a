#include <hip/hip_runtime.h>
// D = A * B, f16 in, f32 out; the matrix instruction by hand.
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

static __device__ inline void wmma(float8 &d, const half16 &a, const half16 &b) {
  asm volatile("v_wmma_f32_16x16x16_f16 %0, %1, %2, %0\n\tv_nop" : "+v"(d) : "v"(a), "v"(b));
}

extern "C" __global__ void __launch_bounds__(128)
hgemm_asm(const _Float16 *A, const _Float16 *B, float *D, unsigned M, unsigned N, unsigned K) {
  const unsigned lane = threadIdx.x % 32, wave = threadIdx.x / 32;
  const unsigned m = blockIdx.y * 32 + (wave / 2) * 16 + lane % 16, n = blockIdx.x * 32 + (wave % 2) * 16 + lane % 16;
  float8 d = {0};
  for (unsigned k = 0; k < K; k += 16) {
    half16 a, b;
#pragma unroll
    for (unsigned i = 0; i < 16; i++) {
      a[i] = m < M && k + i < K ? A[m * K + k + i] : (_Float16)0;
      b[i] = n < N && k + i < K ? B[(k + i) * N + n] : (_Float16)0;
    }
    wmma(d, a, b);
  }
  for (unsigned i = 0; i < 8; i++) {
    const unsigned row = blockIdx.y * 32 + (wave / 2) * 16 + 2 * i + lane / 16;
    if (row < M && n < N) D[row * N + n] = d[i];
  }
}

int launch(const void *a, const void *b, void *d, int M, int N, int K) {
  void *args[] = {&a, &b, &d, &M, &N, &K};
  return hipLaunchKernel(reinterpret_cast<const void *>(hgemm_asm), dim3((N + 31) / 32, (M + 31) / 32), dim3(128), args, 0, 0);
}
