// Token-wise expert linear: y[t, j] = sum over its TOPK experts e of gate[t, e] * (x[t] @ W[idx[t, e]])  -- decode path, few tokens
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>

template <int TOPK, int BLOCK>
__global__ void expert_matvec(const float* __restrict__ hidden, const float* __restrict__ experts, const int* __restrict__ topk_ids,
                              const float* __restrict__ topk_gates, float* __restrict__ result, int d_in, int d_out) {
  const int tok = blockIdx.y;
  const int j = blockIdx.x * BLOCK + threadIdx.x;
  if (j >= d_out) return;
  float total = 0.f;
#pragma unroll
  for (int s = 0; s < TOPK; ++s) {
    const int e = topk_ids[tok * TOPK + s];
    const float* w = experts + (size_t)e * d_in * d_out;
    float sum = 0.f;
    for (int i = 0; i < d_in; ++i) sum += hidden[tok * d_in + i] * w[(size_t)i * d_out + j];
    total += topk_gates[tok * TOPK + s] * sum;
  }
  result[tok * d_out + j] = total;
}

void run_experts(const float* hidden, const float* experts, const int* topk_ids, const float* topk_gates, float* result, int n_tok, int d_in,
                 int d_out, hipStream_t s) {
  expert_matvec<2, 64><<<dim3((d_out + 63) / 64, n_tok), 64, 0, s>>>(hidden, experts, topk_ids, topk_gates, result, d_in, d_out);
}
