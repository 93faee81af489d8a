// A WMMA GEMM of bytes with i32 accumulators and a requantising epilogue.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef int int8v __attribute__((ext_vector_type(8)));
typedef int int4v __attribute__((ext_vector_type(4)));
KERNEL gemm_iu8(const signed char *A, const signed char *B, signed char *C, int K, int ldc, float scale) {
  u32 lane = TID & 31;
  const signed char *a = A + (BLOCK * 16 + (lane & 15)) * (u32)K;
  const signed char *b = B + (__builtin_amdgcn_workgroup_id_y() * 16 + (lane & 15)) * (u32)K;
  int8v acc = {};
  for (int k = 0; k < K; k += 16)
    acc = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, *(const int4v *)(a + k), true, *(const int4v *)(b + k), acc, false);
  for (u32 v = 0; v < 8; v++) {
    float x = __builtin_rintf((float)acc[v] * scale);
    x = __builtin_fminf(__builtin_fmaxf(x, -128.0f), 127.0f);
    C[(BLOCK * 16 + 2 * v + (lane >> 4)) * (u32)ldc + __builtin_amdgcn_workgroup_id_y() * 16 + (lane & 15)] = (signed char)x;
  }
}
