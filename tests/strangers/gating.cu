// softmax over experts and top-k of MoE gating, renormalised
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
template <int EXPERTS, int TOPK> __global__ void topk_gating_softmax(const float* input, float* weights, int* indices, int num_rows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= num_rows) return;
  const int lane = threadIdx.x;
  float p = input[row * EXPERTS + lane];
  float m = p;
  for (int mask = EXPERTS / 2; mask > 0; mask /= 2) m = max(m, __shfl_xor(m, mask, EXPERTS));
  p = expf(p - m);
  float total = p;
  for (int mask = EXPERTS / 2; mask > 0; mask /= 2) total += __shfl_xor(total, mask, EXPERTS);
  p /= total;
  float kept = 0.f, mine = 0.f;
  for (int k = 0; k < TOPK; k++) {
    float best = p;
    int who = lane;
    for (int mask = EXPERTS / 2; mask > 0; mask /= 2) {
      const float other = __shfl_xor(best, mask, EXPERTS);
      const int from = __shfl_xor(who, mask, EXPERTS);
      if (other > best || (other == best && from < who)) { best = other; who = from; }
    }
    if (lane == 0) indices[row * TOPK + k] = who;
    if (lane == k) mine = best;
    if (lane == who) p = -1.f;
    kept += best;
  }
  if (lane < TOPK) weights[row * TOPK + lane] = mine / kept;
}
void topk_softmax(const float* gating_output, float* topk_weights, int* topk_indices, int num_tokens) {
  topk_gating_softmax<32, 4><<<(num_tokens + 3) / 4, dim3(32, 4)>>>(gating_output, topk_weights, topk_indices, num_tokens);
}
