// Buffer loads and stores through a resource descriptor made in the kernel.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
KERNEL buffer_rw(void *in, void *out, int bytes) {
  __amdgpu_buffer_rsrc_t a = __builtin_amdgcn_make_buffer_rsrc(in, 0, bytes, 0x31014000);
  __amdgpu_buffer_rsrc_t b = __builtin_amdgcn_make_buffer_rsrc(out, 0, bytes, 0x31014000);
  int t = (int)TID;
  u32 x = __builtin_amdgcn_raw_buffer_load_b32(a, t * 4, 0, 0);
  u32x2 y = __builtin_amdgcn_raw_buffer_load_b64(a, t * 8, 64, 0);
  u32x4 z = __builtin_amdgcn_raw_buffer_load_b128(a, t * 16 + 32, 0, 0);
  u16 h = __builtin_amdgcn_raw_buffer_load_b16(a, t * 2, bytes >> 1, 0);
  u8 c = __builtin_amdgcn_raw_buffer_load_b8(a, t, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b128(z + x, b, t * 16, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b64(y, b, t * 8 + 1024, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(x, b, t * 4, 512, 0);
  __builtin_amdgcn_raw_buffer_store_b16(h, b, t * 2 + 2048, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b8(c, b, t + 3072, 0, 0);
}
