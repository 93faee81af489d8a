// one workgroup = one wave = 16 query rows of one head. Layout is whatever the strides say.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

using frag = _Float16 __attribute__((ext_vector_type(16)));
using accf = float __attribute__((ext_vector_type(8)));
constexpr int DIM = 32;

struct Strides { int tok, hd, bat; };

__global__ __launch_bounds__(32) void fmha_fwd(const _Float16* Qp, const _Float16* Kp, const _Float16* Vp, _Float16* Op, int L, int H,
                                               int q_tok_jump, int q_hd_jump, int kv_tok_jump, int kv_hd_jump, float softmax_mul) {
  __shared__ _Float16 P[16][16];
  const int lane = threadIdx.x, l = lane & 15, hi = lane >> 4;
  const int row0 = blockIdx.x * 16, h = blockIdx.y;
  const _Float16* Q = Qp + h * q_hd_jump;
  const _Float16* K = Kp + h * kv_hd_jump;
  const _Float16* V = Vp + h * kv_hd_jump;
  frag q[2];
  for (int c = 0; c < 2; c++)
    for (int i = 0; i < 16; i++) q[c][i] = row0 + l < L ? Q[(row0 + l) * q_tok_jump + c * 16 + i] : (_Float16)0;
  accf o[2] = {};
  float mx[8], den[8];
  for (int i = 0; i < 8; i++) mx[i] = -1e30f, den[i] = 0.f;
  for (int j0 = 0; j0 < L; j0 += 16) {
    accf s = {};
    for (int c = 0; c < 2; c++) {
      frag k;
      for (int i = 0; i < 16; i++) k[i] = j0 + l < L ? K[(j0 + l) * kv_tok_jump + c * 16 + i] : (_Float16)0;
      s = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(q[c], k, s);
    }
    for (int i = 0; i < 8; i++) {
      float v = j0 + l < L ? s[i] * softmax_mul : -1e30f;
      float m = v;
      for (int d = 8; d; d >>= 1) m = fmaxf(m, __shfl_xor(m, d, 16));
      m = fmaxf(m, mx[i]);
      float p = __expf(v - m), corr = __expf(mx[i] - m), t = p;
      for (int d = 8; d; d >>= 1) t += __shfl_xor(t, d, 16);
      den[i] = den[i] * corr + t;
      mx[i] = m;
      o[0][i] *= corr, o[1][i] *= corr;
      P[2 * i + hi][l] = (_Float16)p;
    }
    __syncthreads();
    frag p, v0, v1;
    for (int i = 0; i < 16; i++) {
      p[i] = P[l][i];
      v0[i] = j0 + i < L ? V[(j0 + i) * kv_tok_jump + l] : (_Float16)0;
      v1[i] = j0 + i < L ? V[(j0 + i) * kv_tok_jump + 16 + l] : (_Float16)0;
    }
    o[0] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(p, v0, o[0]);
    o[1] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(p, v1, o[1]);
    __syncthreads();
  }
  for (int i = 0; i < 8; i++) {
    const int r = row0 + 2 * i + hi;
    if (r < L)
      for (int c = 0; c < 2; c++) Op[r * q_tok_jump + h * q_hd_jump + c * 16 + l] = (_Float16)(o[c][i] / den[i]);
  }
}

void fmha(const _Float16* q, const _Float16* k, const _Float16* v, _Float16* o, int L, int H, int q_tok_jump, int q_hd_jump, int kv_tok_jump,
          int kv_hd_jump, float mul, hipStream_t st) {
  fmha_fwd<<<dim3((L + 15) / 16, H), 32, 0, st>>>(q, k, v, o, L, H, q_tok_jump, q_hd_jump, kv_tok_jump, kv_hd_jump, mul);
}
