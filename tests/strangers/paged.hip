// Decode attention over a paged KV cache. block_tables [num_seqs, max_blocks], context_lens [num_seqs]
// k_cache, v_cache: [num_blocks, BLOCK_SIZE, num_kv_heads, HEAD_SIZE]
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdint>

template <typename scalar_t, int HEAD_SIZE, int BLOCK_SIZE, int NUM_THREADS>
__global__ void paged_attention_v1_kernel(scalar_t* __restrict__ out, const scalar_t* __restrict__ q, const scalar_t* __restrict__ k_cache,
                                          const scalar_t* __restrict__ v_cache, const int num_kv_heads, const float scale,
                                          const int* __restrict__ block_tables, const int* __restrict__ context_lens,
                                          const int max_num_blocks_per_seq) {
  extern __shared__ float logits[];
  __shared__ float q_s[HEAD_SIZE];
  const int seq = blockIdx.y, head = blockIdx.x, num_heads = gridDim.x;
  const int kv_head = head / (num_heads / num_kv_heads);
  const int len = context_lens[seq];
  const int* table = block_tables + seq * max_num_blocks_per_seq;
  for (int i = threadIdx.x; i < HEAD_SIZE; i += NUM_THREADS) q_s[i] = __half2float(q[(seq * num_heads + head) * HEAD_SIZE + i]) * scale;
  __syncthreads();
  for (int t = threadIdx.x; t < len; t += NUM_THREADS) {
    const int64_t blk = table[t / BLOCK_SIZE];
    const scalar_t* kp = k_cache + ((blk * BLOCK_SIZE + t % BLOCK_SIZE) * num_kv_heads + kv_head) * HEAD_SIZE;
    float acc = 0.f;
    for (int i = 0; i < HEAD_SIZE; ++i) acc += q_s[i] * __half2float(kp[i]);
    logits[t] = acc;
  }
  __syncthreads();
  float mx = -INFINITY;
  for (int t = 0; t < len; ++t) mx = fmaxf(mx, logits[t]);
  float sum = 0.f;
  for (int t = 0; t < len; ++t) sum += __expf(logits[t] - mx);
  for (int i = threadIdx.x; i < HEAD_SIZE; i += NUM_THREADS) {
    float o = 0.f;
    for (int t = 0; t < len; ++t) {
      const int64_t blk = table[t / BLOCK_SIZE];
      o += __expf(logits[t] - mx) * __half2float(v_cache[((blk * BLOCK_SIZE + t % BLOCK_SIZE) * num_kv_heads + kv_head) * HEAD_SIZE + i]);
    }
    out[(seq * num_heads + head) * HEAD_SIZE + i] = __float2half(len > 0 ? o / sum : 0.f);
  }
}

void paged_attention_v1(__half* out, const __half* query, const __half* key_cache, const __half* value_cache, int num_seqs, int num_heads,
                        int num_kv_heads, float scale, const int* block_tables, const int* context_lens, int max_num_blocks_per_seq,
                        int max_context_len, hipStream_t stream) {
  dim3 grid(num_heads, num_seqs);
  const int shared = max_context_len * sizeof(float);
  paged_attention_v1_kernel<__half, 32, 16, 64><<<grid, 64, shared, stream>>>(out, query, key_cache, value_cache, num_kv_heads, scale,
                                                                              block_tables, context_lens, max_num_blocks_per_seq);
}
