// Kernels that do what no correct kernel does, and kernels that no emulator can serve.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define SHARED __attribute__((shared))
typedef unsigned int u32;
#define X __builtin_amdgcn_workitem_id_x()

KERNEL past_the_end(const u32 *in, u32 *out, int n) {
  if ((int)X <= n)
    out[X] = in[X];
}
KERNEL negative(const u32 *in, u32 *out) { out[X] = in[(int)X - 8]; }
KERNEL shared_past_the_end(const u32 *in, u32 *out, int stride) {
  SHARED u32 memory[64];
  memory[X * (u32)stride] = in[X];
  __builtin_amdgcn_s_barrier();
  out[X] = memory[X];
}
KERNEL through_null(u32 *out) { out[X] = 1; }
KERNEL into_code(u32 *out) {
  u32 *code = (u32 *)(unsigned long long)&into_code;
  code[X] = 7;
  out[X] = code[X];
}
KERNEL endless(volatile u32 *out) {
  while (out[0] == 0) out[1] = X;
}
KERNEL trap(const u32 *in, u32 *out) {
  if (in[X] == 3) __builtin_trap();
  out[X] = in[X];
}
KERNEL hostcall(u32 *out) {
  u32 *buffer = *(u32 *const __attribute__((address_space(4))) *)((const __attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr() + 80);
  buffer[X] = 1;
  out[X] = 1;
}
