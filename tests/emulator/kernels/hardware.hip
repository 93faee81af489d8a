// Clocks, and the mode of floating point.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
typedef unsigned long long u64;
#define FIELD(number, low, width) ((number) | (low) << 6 | ((width) - 1) << 11)

KERNEL clocks(u64 *out) {
  out[0] = __builtin_readcyclecounter();
  out[1] = __builtin_readcyclecounter();
  out[2] = __builtin_readsteadycounter();
  out[3] = __builtin_readsteadycounter();
}
KERNEL mode(u64 *out) {
  out[0] = __builtin_amdgcn_s_getreg(FIELD(1, 0, 8));
  out[1] = __builtin_amdgcn_s_getreg(FIELD(1, 5, 2));
  __builtin_amdgcn_s_setreg(FIELD(1, 4, 4), 15);
  __builtin_amdgcn_s_setreg(FIELD(1, 0, 4), 0);
}
KERNEL rounds_up(u64 *out) {
  __builtin_amdgcn_s_setreg(FIELD(1, 0, 2), 1);
  out[0] = 1;
}
KERNEL flushes(u64 *out) {
  __builtin_amdgcn_s_setreg(FIELD(1, 4, 2), 0);
  out[0] = 1;
}
KERNEL where_it_runs(u64 *out) { out[0] = __builtin_amdgcn_s_getreg(FIELD(7, 0, 32)); }
// A loop that waits for time comes to its end.
KERNEL waits_for_time(u64 *out) {
  u64 begin = __builtin_readsteadycounter(), now = begin;
  while (now - begin < 5000) now = __builtin_readsteadycounter();
  out[0] = now - begin;
}
