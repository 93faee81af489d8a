// Shuffles and votes among the lanes of a wave: `warpSize` of them.
#pragma once
#include <hip/layoutprobe_builtins.h>

#if defined(__GFX9__)
LAYOUTPROBE_DEVICE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
#else
LAYOUTPROBE_DEVICE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_lo(~0u, 0u); }
#endif

// The value of lane `from`, of any type of 1, 2, 4 or 8 bytes and more in whole dwords. The dwords go
// through the LDS crossbar one by one; no LDS is used.
template <typename T>
LAYOUTPROBE_DEVICE T layoutprobe_read_lane(T value, int from) {
  static_assert(__is_trivially_copyable(T), "a shuffle moves plain values");
  constexpr int dwords = (sizeof(T) + 3) / 4;
  int words[dwords] = {};
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < dwords; ++i) words[i] = __builtin_amdgcn_ds_bpermute(from * 4, words[i]);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

// `width` is a power of two; lanes that would reach past their group of that width read themselves.
template <typename T>
LAYOUTPROBE_DEVICE T __shfl(T value, int lane, int width = warpSize) {
  const int group = __lane_id() & ~(width - 1);
  return layoutprobe_read_lane(value, group + (lane & (width - 1)));
}
template <typename T>
LAYOUTPROBE_DEVICE T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id(), from = self - int(delta);
  return layoutprobe_read_lane(value, from < (self & ~(width - 1)) ? self : from);
}
template <typename T>
LAYOUTPROBE_DEVICE T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id();
  return layoutprobe_read_lane(value, int((self & (width - 1)) + delta) >= width ? self : self + int(delta));
}
template <typename T>
LAYOUTPROBE_DEVICE T __shfl_xor(T value, int mask, int width = warpSize) {
  const int self = __lane_id(), from = self ^ mask;
  return layoutprobe_read_lane(value, from >= ((self + width) & ~(width - 1)) ? self : from);
}

// Lanes run in step, so a mask of the participants says nothing that EXEC does not.
template <typename T>
LAYOUTPROBE_DEVICE T __shfl_sync(unsigned long long, T value, int lane, int width = warpSize) {
  return __shfl(value, lane, width);
}
template <typename T>
LAYOUTPROBE_DEVICE T __shfl_up_sync(unsigned long long, T value, unsigned delta, int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <typename T>
LAYOUTPROBE_DEVICE T __shfl_down_sync(unsigned long long, T value, unsigned delta, int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <typename T>
LAYOUTPROBE_DEVICE T __shfl_xor_sync(unsigned long long, T value, int mask, int width = warpSize) {
  return __shfl_xor(value, mask, width);
}

#if defined(__GFX9__)
LAYOUTPROBE_DEVICE unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_ballot_w64(predicate != 0);
}
#else
LAYOUTPROBE_DEVICE unsigned long long __ballot(int predicate) {
  return __builtin_amdgcn_ballot_w32(predicate != 0);
}
#endif
LAYOUTPROBE_DEVICE unsigned long long __activemask() { return __ballot(true); }
LAYOUTPROBE_DEVICE int __any(int predicate) { return __ballot(predicate) != 0; }
LAYOUTPROBE_DEVICE int __all(int predicate) { return __ballot(!predicate) == 0; }
LAYOUTPROBE_DEVICE unsigned long long __ballot_sync(unsigned long long mask, int predicate) {
  return __ballot(predicate) & mask;
}
LAYOUTPROBE_DEVICE int __any_sync(unsigned long long mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
LAYOUTPROBE_DEVICE int __all_sync(unsigned long long mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}
