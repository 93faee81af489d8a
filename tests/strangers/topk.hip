// The k largest router logits of each token, and where they are.
#include <hip/hip_runtime.h>
#include <cfloat>

template <int K>
__global__ void topk_gating(const float *logits, float *values, int *indices, int tokens, int experts) {
  const int token = blockIdx.x * blockDim.y + threadIdx.y;
  if (token >= tokens) return;
  const float *row = logits + token * experts;
  float last = FLT_MAX;
  int last_at = -1;
  for (int k = 0; k < K; k++) {
    float best = -FLT_MAX;
    int at = experts;
    for (int e = threadIdx.x; e < experts; e += 32) {
      const float v = row[e];
      const bool left = v < last || (v == last && e > last_at);
      if (left && (v > best || (v == best && e < at))) best = v, at = e;
    }
    for (int o = 16; o > 0; o >>= 1) {
      const float v = __shfl_xor(best, o);
      const int e = __shfl_xor(at, o);
      if (v > best || (v == best && e < at)) best = v, at = e;
    }
    if (threadIdx.x == 0) {
      values[token * K + k] = best;
      indices[token * K + k] = at;
    }
    last = best, last_at = at;
  }
}

void topk2(const float *logits, float *values, int *indices, int tokens, int experts) {
  topk_gating<2><<<(tokens + 3) / 4, dim3(32, 4)>>>(logits, values, indices, tokens, experts);
}
