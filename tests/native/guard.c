// A sanitizer of our own, for builds in tests: the compiler calls it before each load and store
// (-fsanitize=address with calls), and it lets pass what lies in an allowed range, on the stack, or in the library.
typedef unsigned long long u64;
typedef unsigned char u8;
enum { RANGES = 256, STACK = 1 << 20 };
static u64 ranges[RANGES][2], count;
u64 guard_checked, guard_address, guard_size, guard_frame;  // of the first access that is not
extern const u8 __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

#define PLAIN __attribute__((no_sanitize("address")))
// start, end: addresses.
PLAIN void guard_allow(u64 start, u64 end) {
  if (count == RANGES) __builtin_trap();
  ranges[count][0] = start;
  ranges[count++][1] = end;
}
// From now on everything is allowed, until some range is.
PLAIN void guard_open(void) { count = 0; }
PLAIN static void check(u64 at, u64 size) {
  if (!count) return;
  guard_checked++;
  for (u64 n = 0; n < count; n++) {
    if (at < ranges[n][0] || at + size > ranges[n][1]) continue;
    u64 start = ranges[n][0], end = ranges[n][1];  // to the front: most accesses hit where the last one did
    ranges[n][0] = ranges[0][0]; ranges[n][1] = ranges[0][1];
    ranges[0][0] = start; ranges[0][1] = end;
    return;
  }
  u64 here = (u64)__builtin_frame_address(0);
  if (at + size <= here + STACK && at >= here) return;
  if (at >= (u64)__ehdr_start && at + size <= (u64)_end) return;
  if (!guard_size) { guard_address = at; guard_size = size; guard_frame = here; }
}
#define BOTH(n) \
  PLAIN void __asan_load##n(u64 at) { check(at, n); } \
  PLAIN void __asan_store##n(u64 at) { check(at, n); }
BOTH(1) BOTH(2) BOTH(4) BOTH(8) BOTH(16)
PLAIN void __asan_loadN(u64 at, u64 size) { check(at, size); }
PLAIN void __asan_storeN(u64 at, u64 size) { check(at, size); }
PLAIN void *__asan_memset(void *to, int value, u64 size) {
  if (size) check((u64)to, size);
  for (u64 n = 0; n < size; n++) ((volatile u8 *)to)[n] = (u8)value;
  return to;
}
PLAIN void *__asan_memcpy(void *to, const void *from, u64 size) {
  if (size) { check((u64)to, size); check((u64)from, size); }
  for (u64 n = 0; n < size; n++) ((volatile u8 *)to)[n] = ((const u8 *)from)[n];
  return to;
}
void __asan_init(void) {}
void __asan_version_mismatch_check_v8(void) {}
void __asan_handle_no_return(void) {}
