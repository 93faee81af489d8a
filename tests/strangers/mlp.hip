// MLP of llama in two kernels: h = silu(x Wg) * (x Wu); y = h Wd
#include <hip/hip_runtime.h>
#include <cstddef>
typedef _Float16 f16;
typedef f16 f16x16 __attribute__((ext_vector_type(16)));
typedef float f32x8 __attribute__((ext_vector_type(8)));
__device__ __forceinline__ f16x16 row_frag(const f16* p, int row, int rows, int k0, int K) {
  f16x16 f;
  for (int i = 0; i < 16; i++) f[i] = row < rows && k0 + i < K ? p[(size_t)row * K + k0 + i] : (f16)0;
  return f;
}
__global__ void gate_up(const f16* __restrict__ x, const f16* __restrict__ w_gate, const f16* __restrict__ w_up, f16* __restrict__ h, int tokens, int hidden, int inter) {
  const int lane = threadIdx.x, t0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  f32x8 g = {}, u = {};
  for (int k = 0; k < hidden; k += 16) {
    const f16x16 a = row_frag(x, t0 + lane % 16, tokens, k, hidden);
    g = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, row_frag(w_gate, n0 + lane % 16, inter, k, hidden), g);
    u = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, row_frag(w_up, n0 + lane % 16, inter, k, hidden), u);
  }
  for (int i = 0; i < 8; i++) {
    const int t = t0 + 2 * i + lane / 16, n = n0 + lane % 16;
    if (t < tokens && n < inter) h[(size_t)t * inter + n] = (f16)(g[i] / (1.f + expf(-g[i])) * u[i]);
  }
}
__global__ void down(const f16* __restrict__ h, const f16* __restrict__ w_down, f16* __restrict__ y, int tokens, int hidden, int inter) {
  const int lane = threadIdx.x, t0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  f32x8 acc = {};
  for (int k = 0; k < inter; k += 16)
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(row_frag(h, t0 + lane % 16, tokens, k, inter), row_frag(w_down, n0 + lane % 16, hidden, k, inter), acc);
  for (int i = 0; i < 8; i++) {
    const int t = t0 + 2 * i + lane / 16, n = n0 + lane % 16;
    if (t < tokens && n < hidden) y[(size_t)t * hidden + n] = (f16)acc[i];
  }
}
void mlp(const f16* x, const f16* wg, const f16* wu, const f16* wd, f16* h, f16* y, int tokens, int hidden, int inter, hipStream_t s) {
  gate_up<<<dim3((inter + 15) / 16, (tokens + 15) / 16), 32, 0, s>>>(x, wg, wu, h, tokens, hidden, inter);
  down<<<dim3((hidden + 15) / 16, (tokens + 15) / 16), 32, 0, s>>>(h, wd, y, tokens, hidden, inter);
}
