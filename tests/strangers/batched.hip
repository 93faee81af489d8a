#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
typedef _Float16 v16h __attribute__((ext_vector_type(16)));
typedef float v8f __attribute__((ext_vector_type(8)));
struct Params {
  const _Float16* A;
  const _Float16* B;
  float* C;
  int M, N, K;
  long long strideA, strideB, strideC;
  float alpha;
};
__global__ void batched_gemm(Params p) {
  const int z = blockIdx.z, lane = threadIdx.x;
  const _Float16* A = p.A + z * p.strideA;
  const _Float16* B = p.B + z * p.strideB;
  float* C = p.C + z * p.strideC;
  const int r = blockIdx.y * 16 + lane % 16, c = blockIdx.x * 16 + lane % 16;
  v8f acc = {};
  for (int k = 0; k < p.K; k += 16) {
    v16h a, b;
    for (int i = 0; i < 16; ++i) {
      a[i] = r < p.M && k + i < p.K ? A[r * p.K + k + i] : (_Float16)0;
      b[i] = c < p.N && k + i < p.K ? B[(k + i) * p.N + c] : (_Float16)0;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  for (int i = 0; i < 8; ++i) {
    int row = blockIdx.y * 16 + 2 * i + lane / 16;
    if (row < p.M && c < p.N) C[row * p.N + c] = p.alpha * acc[i];
  }
}
void gemm_strided_batched(int M, int N, int K, float alpha, const _Float16* A, long long sa, const _Float16* B, long long sb, float* C, long long sc, int batch) {
  Params p{A, B, C, M, N, K, sa, sb, sc, alpha};
  batched_gemm<<<dim3((N + 15) / 16, (M + 15) / 16, batch), dim3(32, 1, 1)>>>(p);
}
