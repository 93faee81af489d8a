#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <algorithm>
// dynamic per-token int8 quantisation: scale = absmax / 127, q = rint(x / scale)
template <typename T, int BLOCK>
__global__ void dynamic_scaled_int8_quant_kernel(T const* __restrict__ input, int8_t* __restrict__ out,
                                                 float* __restrict__ scale, int const hidden_size) {
  __shared__ float cache[BLOCK];
  int const tid = threadIdx.x;
  int64_t const token = blockIdx.x;
  float amax = 0.f;
  for (int i = tid; i < hidden_size; i += BLOCK) amax = fmaxf(amax, fabsf((float)input[token * hidden_size + i]));
  cache[tid] = amax;
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s /= 2) {
    if (tid < s) cache[tid] = fmaxf(cache[tid], cache[tid + s]);
    __syncthreads();
  }
  amax = cache[0];
  if (tid == 0) scale[token] = amax / 127.f;
  float const inv = amax == 0.f ? 0.f : 127.f / amax;
  for (int i = tid; i < hidden_size; i += BLOCK)
    out[token * hidden_size + i] = (int8_t)rintf((float)input[token * hidden_size + i] * inv);
}

void dynamic_scaled_int8_quant(__half const* input, int8_t* out, float* scale, int num_tokens, int hidden_size) {
  constexpr int kBlock = 64;
  dynamic_scaled_int8_quant_kernel<__half, kBlock><<<num_tokens, kBlock>>>(input, out, scale, hidden_size);
}
