// Decoding: one query a head against a cache of keys and values. q, o: [heads, D]; k, v: [heads, len, D].
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
constexpr int D = 64;

__global__ void decode_attention(half* o, const half* q, const half* k, const half* v, int len) {
  extern __shared__ float scores[];
  __shared__ float red[2];
  const int head = blockIdx.x, t = threadIdx.x;
  q += head * D, o += head * D, k += (size_t)head * len * D, v += (size_t)head * len * D;
  for (int j = t; j < len; j += blockDim.x) {
    float s = 0;
    for (int d = 0; d < D; d++) s += __half2float(q[d]) * __half2float(k[j * D + d]);
    scores[j] = s * 0.125f;
  }
  __syncthreads();
  if (t < 32) {
    float m = -INFINITY, l = 0;
    for (int j = t; j < len; j += 32) m = fmaxf(m, scores[j]);
    for (int b = 16; b; b >>= 1) m = fmaxf(m, __shfl_xor(m, b));
    for (int j = t; j < len; j += 32) l += __expf(scores[j] - m);
    for (int b = 16; b; b >>= 1) l += __shfl_xor(l, b);
    if (t == 0) red[0] = m, red[1] = 1.f / l;
  }
  __syncthreads();
  float acc = 0;
  for (int j = 0; j < len; j++) acc += __expf(scores[j] - red[0]) * __half2float(v[j * D + t]);
  o[t] = __float2half(acc * red[1]);
}

extern "C" void decode(half* o, const half* q, const half* k, const half* v, int heads, int len, hipStream_t stream) {
  decode_attention<<<heads, D, len * sizeof(float), stream>>>(o, q, k, v, len);
}
