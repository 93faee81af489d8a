// Functions that are called: directly, through pointers, virtually, by themselves; on a stack where registers do not suffice.
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 256)))
#define DEVICE __attribute__((device))
#define NOINLINE DEVICE __attribute__((noinline))
#define SHARED __attribute__((shared))
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned long long u64;
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define X (64 * GROUP + ITEM)

NOINLINE u32 twice(u32 x) { return 2 * x + 1; }
NOINLINE u32 mixed(u32 x) { return twice(x) ^ twice(x + 7); }
NOINLINE u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
NOINLINE u32 swapped(u32 x) { return x << 16 | x >> 16; }
typedef u32 (*Unary)(u32);
DEVICE Unary table[3] = {twice, swapped, fibonacci};

struct Shape {
  u32 side;
  DEVICE virtual u32 area() const { return 0; }
};
struct Square : Shape { DEVICE u32 area() const override { return side * side; } };
struct Ring : Shape { DEVICE u32 area() const override { return 3 * side + 1; } };

KERNEL direct(const u32 *in, u32 *out) { out[X] = mixed(in[X]) + twice(in[X]); }
// Waves and lanes part: only some of them call.
KERNEL divergent(const u32 *in, u32 *out) {
  u32 x = in[X];
  if (x % 3 == 0) x = mixed(x);
  else if (GROUP % 2) x = swapped(x);
  out[X] = x;
}
KERNEL recursive(const u32 *in, u32 *out) { out[X] = fibonacci(in[X] % 9); }
KERNEL through_pointers(const u32 *in, u32 *out) { out[X] = table[X % 3](in[X] % 9); }
KERNEL virtually(const u32 *in, u32 *out) {
  Square square;
  Ring ring;
  square.side = ring.side = in[X];
  const Shape *chosen = X % 2 ? static_cast<const Shape *>(&square) : &ring;
  out[X] = chosen->area();
}
// An array on the stack that a function fills through a pointer.
NOINLINE void fill(u32 *values, u32 count, u32 first) {
  for (u32 i = 0; i < count; ++i) values[i] = first * (i + 1);
}
KERNEL on_the_stack(const u32 *in, u32 *out) {
  u32 values[24], sum = 0;
  fill(values, 24, in[X]);
  for (u32 i = 0; i < 24; ++i) sum += values[(i * in[X]) % 24] << i % 5;
  out[X] = sum;
}
// A function with a barrier, which all waves of a workgroup call; each in turn from one of two places.
NOINLINE u32 next_of(volatile u32 *shared, u32 mine, u32 items) {
  __builtin_amdgcn_s_barrier();
  shared[ITEM] = mine;
  __builtin_amdgcn_s_barrier();
  return shared[(ITEM + 1) % items];
}
KERNEL meeting(const u32 *in, u32 *out) {
  const u32 items = 64;
  SHARED u32 shared[64];
  u32 x = in[X];
  for (u32 i = 0; i < 3; ++i) x += i % 2 ? next_of(shared, x, items) : 5 * next_of(shared, x, items);
  out[X] = x;
}
KERNEL too_deep(const u32 *in, u32 *out) { out[X] = fibonacci(1000 + in[X]); }
KERNEL nowhere(const u64 *in, u32 *out) { out[X] = ((Unary)in[0])(X); }
// What the packet says of the launch: work-items of a workgroup and of the grid, bytes of LDS, type and dimensions.
KERNEL packet(u32 *out) {
  const __attribute__((address_space(4))) u32 *words =
      (const __attribute__((address_space(4))) u32 *)__builtin_amdgcn_dispatch_ptr();
  if (X < 9) out[X] = words[X];
}
