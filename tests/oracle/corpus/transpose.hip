// Transposes of f16 and f32 tiles through LDS: D16 halves, padding and an XOR swizzle.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
#define SYNC() do { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); } while (0)
KERNEL transpose_f16(const _Float16 *in, _Float16 *out, int ld) {
  SHARED _Float16 m[64 * 72];
  u32 t = TID; // 64 threads, tile 64x64
  for (u32 i = 0; i < 8; i++) {
    u32 r = i * 8 + (t >> 3), c = (t & 7) * 8;
    *(half8 *)&m[r * 72 + c] = *(const half8 *)&in[(BLOCK * 64 + r) * (u32)ld + c];
  }
  SYNC();
  for (u32 i = 0; i < 8; i++) {
    u32 r = i * 8 + (t >> 3), c = (t & 7) * 8;
    half8 v;
    for (u32 k = 0; k < 8; k++) v[k] = m[(c + k) * 72 + r];
    *(half8 *)&out[r * (u32)ld + BLOCK * 64 + c] = v;
  }
}
KERNEL transpose_f32(const float *in, float *out, int ld) {
  SHARED float m[32 * 32];
  u32 t = TID; // 32 threads, tile 32x32, XOR swizzle
  for (u32 i = 0; i < 32; i++) m[i * 32 + (t ^ i)] = in[(BLOCK * 32 + i) * (u32)ld + t];
  SYNC();
  for (u32 i = 0; i < 32; i++) out[i * (u32)ld + BLOCK * 32 + t] = m[t * 32 + (i ^ t)];
}
