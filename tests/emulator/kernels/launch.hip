// What a kernel learns about its launch: ids, extents, hidden arguments, constants, static arrays.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 1024)))
#define CONSTANT static __attribute__((device)) const
#define DEVICE static __attribute__((device))
#define SHARED __attribute__((shared))
typedef unsigned int u32;
typedef unsigned short u16;
#define X __builtin_amdgcn_workitem_id_x()
#define Y __builtin_amdgcn_workitem_id_y()
#define Z __builtin_amdgcn_workitem_id_z()
#define GX __builtin_amdgcn_workgroup_id_x()
#define GY __builtin_amdgcn_workgroup_id_y()
#define GZ __builtin_amdgcn_workgroup_id_z()
#define BLOCK_DIM(axis) (u32)((const __attribute__((address_space(4))) u16 *)__builtin_amdgcn_implicitarg_ptr())[6 + axis]
#define GRID_DIM(axis) ((const __attribute__((address_space(4))) u32 *)__builtin_amdgcn_implicitarg_ptr())[axis]

// One record of six per work-item, at its flat position in the grid.
KERNEL ids(u32 *out) {
  u32 bx = BLOCK_DIM(0), by = BLOCK_DIM(1), bz = BLOCK_DIM(2);
  u32 group = (GZ * GRID_DIM(1) + GY) * GRID_DIM(0) + GX;
  u32 *at = out + 6 * (group * bx * by * bz + (Z * by + Y) * bx + X);
  at[0] = X; at[1] = Y; at[2] = Z;
  at[3] = GX; at[4] = GY; at[5] = GZ;
}
KERNEL extents(u32 *out) {
  if (X | Y | Z | GX | GY | GZ) return;
  for (int i = 0; i < 3; i++) { out[i] = GRID_DIM(i); out[3 + i] = BLOCK_DIM(i); }
  out[6] = ((const __attribute__((address_space(4))) u16 *)__builtin_amdgcn_implicitarg_ptr())[32];  // dimensions
}
// Only z of the workgroup id is used: the descriptor then enables x and y or not, as it likes.
KERNEL only_z(u32 *out) { out[GZ * 32 + X] = GZ * 1000 + X; }
KERNEL only_y(u32 *out) { out[GY * 32 + X] = GY * 1000 + X; }

KERNEL scalars(u32 *out, unsigned char a, short b, int c, float d, double e, unsigned long long f) {
  u32 i = X;
  out[i] = a + i; out[32 + i] = (u32)(int)b; out[64 + i] = (u32)c; out[96 + i] = __builtin_bit_cast(u32, d);
  out[128 + i] = (u32)(__builtin_bit_cast(unsigned long long, e) >> 32); out[160 + i] = (u32)(f >> 32); out[192 + i] = (u32)f;
}
struct Pair { int first; float second[3]; };
KERNEL by_value(u32 *out, Pair p, int n) {
  out[X] = (u32)(p.first * n); out[32 + X] = __builtin_bit_cast(u32, p.second[X % 3]);
}

KERNEL dynamic_lds(u32 *out, int n) {
  extern SHARED u32 memory[];
  memory[X] = X * 3;
  __builtin_amdgcn_s_barrier();
  out[X] = memory[n - 1 - (int)X];
}

CONSTANT u32 table[40] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4,
                          6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 0, 2, 8, 8, 4, 1, 9, 7};
KERNEL constants(const u32 *in, u32 *out) { out[X] = table[in[X] % 40]; }

// A table of addresses: the loader must relocate it.
CONSTANT u32 odd[4] = {11, 13, 17, 19};
CONSTANT u32 even[4] = {22, 24, 26, 28};
CONSTANT u32 *const both[2] = {even, odd};
KERNEL relocated(const u32 *in, u32 *out) { out[X] = both[in[X] & 1][in[X] >> 1 & 3]; }

DEVICE u32 counters[64];
KERNEL device_array(const u32 *in, u32 *out) {
  out[X] = counters[X];
  counters[X] = in[X] + 1;
  out[32 + X] = counters[X];
}
KERNEL store_constant(u32 *out, int at) {
  u32 *hidden = const_cast<u32 *>(table);
  __asm__ volatile("" : "+s"(hidden));  // so that the compiler does not drop a store that it knows to be wrong
  hidden[at + (int)X] = out[X];
}

KERNEL many(u32 *out, int n) {
  u32 at = GX * BLOCK_DIM(0) + X;
  if (at < (u32)n) out[at] = at * 2654435761u;
}
// Each workgroup reverses its part through LDS.
KERNEL reversed(const u32 *in, u32 *out) {
  SHARED u32 memory[96];
  u32 at = GX * 96 + X;
  memory[X] = in[at];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[at] = memory[95 - X];
}
