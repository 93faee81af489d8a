#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdint>

// y[M,N] = x[M,K] @ dequant(qweight)[K,N]
//   qweight int32 [K/8, N]            8 nibbles along k
//   qzeros  int32 [K/GROUP, N/8]      8 nibbles along n, zero point - 1 as AutoGPTQ stores it
//   scales  half  [K/GROUP, N]
namespace gptq {

constexpr int GROUP = 32;
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));

template <int TM, int TN>
__global__ void gemm_w4a16_kernel(const half* __restrict__ x, const uint32_t* __restrict__ qweight,
                                  const uint32_t* __restrict__ qzeros, const half* __restrict__ scales,
                                  half* __restrict__ y, int M, int N, int K) {
  static_assert(TM == 16 && TN % 16 == 0);
  __shared__ _Float16 w[TN][GROUP + 2];
  const int tid = threadIdx.x, lane = tid % 32, wave = tid / 32;
  const int row0 = blockIdx.y * TM, col0 = blockIdx.x * TN;
  const int r = row0 + lane % 16;
  f8 acc = {};
  for (int k0 = 0; k0 < K; k0 += GROUP) {
    for (int e = tid; e < TN * (GROUP / 8); e += blockDim.x) {
      const int n = e % TN, kk = e / TN, col = col0 + n;
      const uint32_t packed = qweight[(k0 / 8 + kk) * N + col];
      const uint32_t zw = qzeros[(k0 / GROUP) * (N / 8) + col / 8];
      const int zero = ((zw >> (4 * (col % 8))) & 0xf) + 1;
      const float scale = __half2float(scales[(k0 / GROUP) * N + col]);
#pragma unroll
      for (int j = 0; j < 8; ++j) w[n][kk * 8 + j] = (_Float16)(((int)((packed >> (4 * j)) & 0xf) - zero) * scale);
    }
    __syncthreads();
#pragma unroll
    for (int ks = 0; ks < GROUP; ks += 16) {
      h16 a, b;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        a[i] = r < M ? (_Float16)x[r * K + k0 + ks + i] : (_Float16)0.0f;
        b[i] = w[wave * 16 + lane % 16][ks + i];
      }
      acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
    }
    __syncthreads();
  }
  const int col = col0 + wave * 16 + lane % 16;
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + 2 * i + lane / 16;
    if (row < M) y[row * N + col] = __float2half(acc[i]);
  }
}

torch::Tensor gemm_w4a16(torch::Tensor x, torch::Tensor qweight, torch::Tensor qzeros, torch::Tensor scales) {
  TORCH_CHECK(x.is_contiguous() && qweight.is_contiguous(), "contiguous tensors only");
  TORCH_CHECK(qweight.dtype() == torch::kInt32);
  const int64_t M = x.size(0), K = x.size(1), N = qweight.size(1);
  TORCH_CHECK(K % GROUP == 0 && N % 32 == 0, "K must be a multiple of the group, N of 32");
  at::Tensor y = torch::empty({M, N}, x.options());
  constexpr int TM = 16, TN = 32;
  const dim3 blocks(N / TN, (M + TM - 1) / TM);
  gemm_w4a16_kernel<TM, TN><<<blocks, 2 * TN, 0, c10::cuda::getCurrentCUDAStream()>>>(
      (const half*)x.data_ptr(), (const uint32_t*)qweight.data_ptr(), (const uint32_t*)qzeros.data_ptr(),
      (const half*)scales.data_ptr(), (half*)y.data_ptr(), M, N, K);
  return y;
}

}  // namespace gptq

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("gemm_w4a16", &gptq::gemm_w4a16, "int4 weights, half activations"); }
