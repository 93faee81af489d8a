// grouped GEMM of a mixture of experts: rows are sorted by expert, expert_of[b] is the expert of row block b (each block another one)
#include <hip/hip_runtime.h>
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));

__global__ __launch_bounds__(32) void moe_up_proj(const _Float16* sorted_x, const _Float16* w_up, const int* expert_of, _Float16* dst, int inter,
                                                  int hid) {
  const int b = blockIdx.y, c0 = blockIdx.x * 16, l = threadIdx.x & 15;
  const _Float16* w = w_up + (size_t)expert_of[b] * inter * hid;
  f8 acc = {};
  for (int p = 0; p < hid; p += 16) {
    h16 fa, fb;
    for (int i = 0; i < 16; i++) {
      fa[i] = p + i < hid ? sorted_x[(b * 16 + l) * hid + p + i] : (_Float16)0;
      fb[i] = p + i < hid && c0 + l < inter ? w[(c0 + l) * hid + p + i] : (_Float16)0;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(fa, fb, acc);
  }
  for (int i = 0; i < 8; i++) {
    int r = b * 16 + 2 * i + threadIdx.x / 16;
    if (c0 + l < inter) dst[(size_t)r * inter + c0 + l] = (_Float16)acc[i];
  }
}

extern "C" void moe_up(const _Float16* sorted_x, const _Float16* w_up, const int* expert_of, _Float16* dst, int blocks, int inter, int hid, hipStream_t st) {
  hipLaunchKernelGGL(moe_up_proj, dim3((inter + 15) / 16, blocks), dim3(32), 0, st, sorted_x, w_up, expert_of, dst, inter, hid);
}
