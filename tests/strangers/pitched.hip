#include <hip/hip_runtime.h>
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));
// out[r][c] = act[r][:] . wt[c][:]; pitches in elements
__global__ __launch_bounds__(32) void proj(const _Float16* act, int act_pitch, const _Float16* wt, int wt_pitch, float* out, int out_pitch,
                                           int nrow, int ncol, int depth) {
  int l = threadIdx.x % 16, g = threadIdx.x / 16, r = blockIdx.x * 16, c = blockIdx.y * 16;
  f8 s = {};
  for (int p = 0; p < depth; p += 16) {
    h16 x = {}, w = {};
    for (int i = 0; i < 16 && p + i < depth; ++i) {
      if (r + l < nrow) x[i] = act[(long)(r + l) * act_pitch + p + i];
      if (c + l < ncol) w[i] = wt[(long)(c + l) * wt_pitch + p + i];
    }
    s = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, w, s);
  }
  for (int i = 0; i < 8; ++i)
    if (r + 2 * i + g < nrow && c + l < ncol) out[(long)(r + 2 * i + g) * out_pitch + c + l] = s[i];
}
void launch(const _Float16* act, int act_pitch, const _Float16* wt, int wt_pitch, float* out, int out_pitch, int nrow, int ncol, int depth) {
  proj<<<dim3((nrow + 15) / 16, (ncol + 15) / 16), 32>>>(act, act_pitch, wt, wt_pitch, out, out_pitch, nrow, ncol, depth);
}
