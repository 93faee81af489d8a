// Row softmax of f32 by one wave: max, exp2, sum by DPP and swizzle, exact division.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
#define XLANE(x, m) __builtin_bit_cast(float, __builtin_amdgcn_ds_swizzle(__builtin_bit_cast(int, x), 0x1f | (m) << 10))
KERNEL softmax(const float *in, float *out, int cols) {
  u32 lane = TID & 31;
  const float *row = in + (long long)BLOCK * cols;
  float m = -__builtin_inff();
  for (int i = (int)lane; i < cols; i += 32) m = __builtin_fmaxf(m, row[i]);
  m = __builtin_fmaxf(m, XLANE(m, 16));
  m = __builtin_fmaxf(m, XLANE(m, 8));
  m = __builtin_fmaxf(m, XLANE(m, 4));
  m = __builtin_fmaxf(m, XLANE(m, 2));
  m = __builtin_fmaxf(m, XLANE(m, 1));
  float s = 0;
  for (int i = (int)lane; i < cols; i += 32) s += __builtin_amdgcn_exp2f((row[i] - m) * 1.44269504f);
  s += XLANE(s, 16);
  s += XLANE(s, 8);
  s += XLANE(s, 4);
  s += XLANE(s, 2);
  s += XLANE(s, 1);
  for (int i = (int)lane; i < cols; i += 32)
    out[(long long)BLOCK * cols + i] = __builtin_amdgcn_exp2f((row[i] - m) * 1.44269504f) / s;
}
