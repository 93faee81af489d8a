// residual += input; input = rmsnorm(residual) * weight        (one struct of arguments)
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>

struct FusedAddRmsNormParams {
  __hip_bfloat16* input;         // [tokens, hidden]
  __hip_bfloat16* residual;      // [tokens, hidden]
  const __hip_bfloat16* weight;  // [hidden]
  float epsilon;
  int tokens;
  int hidden;
};

__device__ float block_sum(float v) {
  __shared__ float shared[8];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor(v, o);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
  __syncthreads();
  float total = 0.f;
  for (unsigned i = 0; i < blockDim.x / 32; i++) total += shared[i];
  return total;
}

__global__ void fused_add_rms_norm(FusedAddRmsNormParams p) {
  __hip_bfloat16* x = p.input + (size_t)blockIdx.x * p.hidden;
  __hip_bfloat16* r = p.residual + (size_t)blockIdx.x * p.hidden;
  float sum = 0.f;
  for (int i = threadIdx.x; i < p.hidden; i += blockDim.x) {
    const float z = __bfloat162float(x[i]) + __bfloat162float(r[i]);
    r[i] = __float2bfloat16(z);
    sum += z * z;
  }
  const float scale = rsqrtf(block_sum(sum) / p.hidden + p.epsilon);
  for (int i = threadIdx.x; i < p.hidden; i += blockDim.x)
    x[i] = __float2bfloat16(__bfloat162float(r[i]) * scale * __bfloat162float(p.weight[i]));
}

void run(__hip_bfloat16* input, __hip_bfloat16* residual, const __hip_bfloat16* weight, int tokens, int hidden) {
  FusedAddRmsNormParams params;
  params.input = input;
  params.residual = residual;
  params.weight = weight;
  params.epsilon = 1e-6f;
  params.tokens = tokens;
  params.hidden = hidden;
  hipLaunchKernelGGL(fused_add_rms_norm, dim3(tokens), dim3(128), 0, nullptr, params);
}
