// Kernels that never end, reach anywhere, or ask for more than there is.
#define KERNEL extern "C" __attribute__((global)) void
#define ITEM __builtin_amdgcn_workitem_id_x()
#define WAVE __builtin_amdgcn_readfirstlane(ITEM / 32)

KERNEL spin(int* y) { while (*(volatile int*)y != 3) *(volatile int*)y = 1; }
KERNEL sleeps(int* y) { while (*(volatile int*)y != 3) __builtin_amdgcn_s_sleep(127); }
KERNEL jumps_to_itself(int* y) { asm volatile("1: s_branch 1b"); *y = 1; }
KERNEL barrier_never_reached(int* y)
{
  if (WAVE == 0)
    while (*(volatile int*)y != 3) __builtin_amdgcn_s_sleep(1);
  __builtin_amdgcn_s_barrier();
  *y = 3;
}
KERNEL barrier_for_ever(int* y) { while (*(volatile int*)y != 3) __builtin_amdgcn_s_barrier(); }
KERNEL null_store(int*) { *(volatile int*)0 = 1; }
KERNEL wild_load(int* y) { *y = *(volatile int*)0xffffffffffffff00ull; }
KERNEL wild_store(int* y) { y[-1000000000ll * ITEM] = 1; }
KERNEL own_code(int*) { asm volatile("s_getpc_b64 s[2:3]\nv_mov_b32 v0, 0\nglobal_store_b32 v0, v0, s[2:3]"); }
KERNEL jumps_away(int* y) { asm volatile("s_mov_b64 s[2:3], -4\ns_setpc_b64 s[2:3]"); *y = 1; }
KERNEL jumps_into_data(int* y) { asm volatile("s_getpc_b64 s[2:3]\ns_add_u32 s2, s2, 2\ns_setpc_b64 s[2:3]"); *y = 1; }
KERNEL falls_off(int*) { asm volatile("s_branch 0x7fff"); __builtin_unreachable(); }
KERNEL fills(int* y) { y[ITEM] = 1; }
KERNEL large_stack(int* y)
{
  volatile int x[60000];
  for (int i = 0; i < 60000; ++i) x[i] = y[i & 31];
  y[0] = x[y[1]];
}
KERNEL reads_packet(int* y) { *y = *(__attribute__((address_space(4))) const int*)__builtin_amdgcn_dispatch_ptr(); }
