// decode step of Llama: one query of each head, heads share keys and values
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
constexpr int HEAD_DIM = 64;
__global__ __launch_bounds__(64) void gqa_decode(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
                                                  __half* __restrict__ out, int n_heads, int n_kv_heads, int seq_len, float scale) {
  extern __shared__ float scores[];
  const int head = blockIdx.x, b = blockIdx.y, kv = head / (n_heads / n_kv_heads), t = threadIdx.x;
  const __half* qh = q + (b * n_heads + head) * HEAD_DIM;
  float m = -INFINITY;
  for (int j = t; j < seq_len; j += 64) {
    const __half* kj = k + ((b * seq_len + j) * n_kv_heads + kv) * HEAD_DIM;
    float s = 0.f;
    for (int d = 0; d < HEAD_DIM; ++d) s += __half2float(qh[d]) * __half2float(kj[d]);
    scores[j] = s * scale;
  }
  __syncthreads();
  for (int j = 0; j < seq_len; ++j) m = fmaxf(m, scores[j]);
  float l = 0.f, o = 0.f;
  for (int j = 0; j < seq_len; ++j) {
    const float p = __expf(scores[j] - m);
    l += p;
    o += p * __half2float(v[((b * seq_len + j) * n_kv_heads + kv) * HEAD_DIM + t]);
  }
  out[(b * n_heads + head) * HEAD_DIM + t] = __float2half(o / l);
}
void decode(const __half* q, const __half* k, const __half* v, __half* out, int batch, int n_heads, int n_kv_heads, int seq_len, hipStream_t stream) {
  gqa_decode<<<dim3(n_heads, batch), 64, seq_len * sizeof(float), stream>>>(q, k, v, out, n_heads, n_kv_heads, seq_len, 0.125f);
}
