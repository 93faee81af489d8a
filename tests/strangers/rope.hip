#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <cstdint>
// rotary embedding in place, neox style, with positions gathered from a table. q: [tokens, heads, head_dim]
namespace vllm_like {
template <typename scalar_t>
__global__ void rotary_embedding_kernel(const int64_t* __restrict__ positions, scalar_t* __restrict__ query,
                                        const scalar_t* __restrict__ cos_sin_cache, const int rot_dim,
                                        const int64_t query_stride, const int num_heads, const int head_size) {
  const int token = blockIdx.x;
  const int64_t pos = positions[token];
  const scalar_t* cache = cos_sin_cache + pos * rot_dim;
  const int embed = rot_dim / 2, total = num_heads * embed;
  for (int i = threadIdx.x; i < total; i += blockDim.x) {
    const int head = i / embed, off = i % embed;
    scalar_t* at = query + token * query_stride + head * head_size;
    const float c = __bfloat162float(cache[off]), s = __bfloat162float(cache[embed + off]);
    const float x = __bfloat162float(at[off]), y = __bfloat162float(at[embed + off]);
    at[off] = __float2bfloat16(x * c - y * s);
    at[embed + off] = __float2bfloat16(y * c + x * s);
  }
}
}  // namespace vllm_like

void rotary_embedding(const int64_t* positions, __hip_bfloat16* query, const __hip_bfloat16* cache, int num_tokens,
                      int num_heads, int head_size, hipStream_t stream) {
  const int rot_dim = head_size;
  dim3 grid(num_tokens), block(64);
  vllm_like::rotary_embedding_kernel<__hip_bfloat16>
      <<<grid, block, 0, stream>>>(positions, query, cache, rot_dim, num_heads * head_size, num_heads, head_size);
}
