// Row layernorm: f16 in and out, f32 sums through LDS by 128 threads.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
#define SYNC() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
static __attribute__((device)) float block_sum(float x, float *m) {
  u32 t = TID;
  m[t] = x;
  SYNC();
  for (u32 s = 64; s > 0; s >>= 1) {
    if (t < s) m[t] += m[t + s];
    SYNC();
  }
  float r = m[0];
  SYNC();
  return r;
}
KERNEL layernorm(const _Float16 *in, const _Float16 *gamma, const _Float16 *beta, _Float16 *out, int cols, float eps) {
  SHARED float m[128];
  u32 t = TID;
  const _Float16 *row = in + (u64)BLOCK * (u32)cols;
  float s = 0, q = 0;
  for (int i = (int)t; i < cols; i += 128) { float x = (float)row[i]; s += x; q = __builtin_fmaf(x, x, q); }
  float mean = block_sum(s, m) / (float)cols;
  float var = block_sum(q, m) / (float)cols - mean * mean;
  float r = __builtin_amdgcn_rsqf(var + eps);
  for (int i = (int)t; i < cols; i += 128)
    out[(u64)BLOCK * (u32)cols + (u32)i] = (_Float16)(((float)row[i] - mean) * r * (float)gamma[i] + (float)beta[i]);
}
