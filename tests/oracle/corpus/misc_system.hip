// Clocks, priorities, sleeps, waves' hardware registers and scheduling hints.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
#define TID __builtin_amdgcn_workitem_id_x()
#define BLOCK __builtin_amdgcn_workgroup_id_x()
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
typedef unsigned char u8;
KERNEL clocks(u64 *out) {
  u64 a = __builtin_readcyclecounter();
  __builtin_amdgcn_s_sleep(1);
  __builtin_amdgcn_s_setprio(1);
  out[TID] = __builtin_readcyclecounter() - a;
  __builtin_amdgcn_s_setprio(0);
}
KERNEL hwreg(u32 *out) { out[TID] = (u32)__builtin_amdgcn_s_getreg(0x1801) & 3; }
