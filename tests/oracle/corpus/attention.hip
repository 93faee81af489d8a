// One tile of attention: two WMMAs, softmax over the fragment by DPP, through LDS to the second operand.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
#define ROWX(x, m) __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, x), 0x160 | (m), 0xf, 0xf, true))
#define SYNC() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
KERNEL attention(const half16 *Q, const half16 *K, const half16 *V, float *out, float scale, int tiles) {
  SHARED _Float16 P[16 * 24];
  u32 lane = TID & 31, lo = lane & 15, hi = lane >> 4;
  half16 q = Q[BLOCK * 16 + lo];
  float8 acc = {};
  float m[8], l[8];
  for (int v = 0; v < 8; v++) { m[v] = -__builtin_inff(); l[v] = 0; }
  for (int i = 0; i < tiles; i++) {
    float8 s = {};
    s = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(q, K[(u32)i * 16 + lo], s);
    for (u32 v = 0; v < 8; v++) {
      float x = s[v] * scale, top = x;
      top = __builtin_fmaxf(top, ROWX(top, 1));
      top = __builtin_fmaxf(top, ROWX(top, 2));
      top = __builtin_fmaxf(top, ROWX(top, 4));
      top = __builtin_fmaxf(top, ROWX(top, 8));
      top = __builtin_fmaxf(top, m[v]);
      float p = __builtin_amdgcn_exp2f(x - top), keep = __builtin_amdgcn_exp2f(m[v] - top), sum = p;
      sum += ROWX(sum, 1);
      sum += ROWX(sum, 2);
      sum += ROWX(sum, 4);
      sum += ROWX(sum, 8);
      l[v] = l[v] * keep + sum;
      m[v] = top;
      acc[v] *= keep;
      P[(2 * v + hi) * 24 + lo] = (_Float16)p;
    }
    SYNC();
    half16 p = *(const half16 *)__builtin_assume_aligned(&P[lo * 24], 16);
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(p, V[(u32)i * 16 + lo], acc);
    SYNC();
  }
  for (u32 v = 0; v < 8; v++) out[(BLOCK * 16 + 2 * v + hi) * 16 + lo] = acc[v] / l[v];
}
