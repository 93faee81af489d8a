// Elementwise neural activations: gelu by tanh, silu, clamp, quantisation to i8.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
static __attribute__((device)) float tanh_(float x) {
  float e = __builtin_amdgcn_exp2f(__builtin_fabsf(x) * 2.885390082f);
  float r = 1.0f - 2.0f / (e + 1.0f);
  return __builtin_copysignf(r, x);
}
KERNEL gelu(const _Float16 *in, _Float16 *out, int n) {
  u32 i = BLOCK * 256 + TID;
  if (i >= (u32)n) return;
  float x = (float)in[i];
  out[i] = (_Float16)(0.5f * x * (1.0f + tanh_(0.7978845608f * (x + 0.044715f * x * x * x))));
}
KERNEL silu(const float *in, float *out, int n) {
  for (u32 i = BLOCK * 256 + TID; i < (u32)n; i += 1024) {
    float x = in[i];
    out[i] = x * __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_exp2f(x * -1.442695f));
  }
}
KERNEL quantise(const float *in, signed char *out, float scale, int n) {
  u32 i = 4 * (BLOCK * 256 + TID);
  if (i + 3 >= (u32)n) return;
  u32 packed = 0;
  for (u32 k = 0; k < 4; k++) {
    float q = __builtin_rintf(in[i + k] * scale);
    q = __builtin_fminf(__builtin_fmaxf(q, -127.0f), 127.0f);
    packed |= ((u32)(int)q & 0xff) << (8 * k);
  }
  *(u32 *)(out + i) = packed;
}
KERNEL relu_clamp(const float *in, float *out, float hi) {
  u32 t = TID;
  float x = in[t];
  out[t] = __builtin_fminf(__builtin_fmaxf(x, 0.0f), hi);
  out[t + 256] = __builtin_amdgcn_fmed3f(x * 3.0f + 1.0f, 0.0f, 1.0f) * 2.0f;
}
