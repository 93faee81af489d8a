// Fused mixture-of-experts GEMM: blocks of sorted (token, expert) pairs, as vLLM sorts them.
//   C[pair, n] = topk_weight[pair] * sum_k A[pair / TOPK, k] * W[expert, n, k]
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cstdint>

namespace moe {

struct Config {
  static constexpr int kBlockM = 16;
  static constexpr int kBlockN = 32;
  static constexpr int kBlockK = 16;
  static constexpr int kThreads = 64;
  static constexpr int kTopK = 2;
};

using v16h = _Float16 __attribute__((ext_vector_type(16)));
using v8f = float __attribute__((ext_vector_type(8)));

template <typename Cfg>
__global__ __launch_bounds__(Cfg::kThreads) void fused_moe_kernel(
    const _Float16* __restrict__ a, const _Float16* __restrict__ w, _Float16* __restrict__ c,
    const float* __restrict__ topk_weights, const int32_t* __restrict__ sorted_pairs,
    const int32_t* __restrict__ expert_ids, int num_pairs, int N, int K) {
  __shared__ _Float16 tile_a[Cfg::kBlockM][Cfg::kBlockK];
  __shared__ _Float16 tile_w[Cfg::kBlockN][Cfg::kBlockK];
  const int lane = threadIdx.x & 31, wave = threadIdx.x >> 5;
  const int expert = expert_ids[blockIdx.y];
  const int n0 = blockIdx.x * Cfg::kBlockN;
  const int32_t* pairs = sorted_pairs + blockIdx.y * Cfg::kBlockM;
  v8f acc = {};
  for (int k0 = 0; k0 < K; k0 += Cfg::kBlockK) {
    for (int e = threadIdx.x; e < Cfg::kBlockM * Cfg::kBlockK; e += Cfg::kThreads) {
      const int m = e / Cfg::kBlockK, k = e % Cfg::kBlockK;
      const int pair = pairs[m];
      tile_a[m][k] = pair < num_pairs && k0 + k < K ? a[(pair / Cfg::kTopK) * K + k0 + k] : (_Float16)0;
    }
    for (int e = threadIdx.x; e < Cfg::kBlockN * Cfg::kBlockK; e += Cfg::kThreads) {
      const int n = e / Cfg::kBlockK, k = e % Cfg::kBlockK;
      tile_w[n][k] = n0 + n < N && k0 + k < K ? w[((size_t)expert * N + n0 + n) * K + k0 + k] : (_Float16)0;
    }
    __syncthreads();
    v16h fa, fb;
    for (int i = 0; i < 16; i++) fa[i] = tile_a[lane & 15][i], fb[i] = tile_w[wave * 16 + (lane & 15)][i];
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(fa, fb, acc);
    __syncthreads();
  }
  const int n = n0 + wave * 16 + (lane & 15);
  for (int i = 0; i < 8; i++) {
    const int pair = pairs[2 * i + (lane >> 4)];
    if (pair < num_pairs && n < N) c[(size_t)pair * N + n] = (_Float16)(acc[i] * topk_weights[pair]);
  }
}

void fused_moe(const _Float16* a, const _Float16* w, _Float16* c, const float* topk_weights,
               const int32_t* sorted_pairs, const int32_t* expert_ids, int num_pairs, int num_blocks, int N, int K,
               hipStream_t stream) {
  const dim3 grid((N + Config::kBlockN - 1) / Config::kBlockN, num_blocks);
  fused_moe_kernel<Config><<<grid, Config::kThreads, 0, stream>>>(a, w, c, topk_weights, sorted_pairs, expert_ids,
                                                                  num_pairs, N, K);
}

}  // namespace moe
