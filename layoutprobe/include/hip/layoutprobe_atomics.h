// atomicAdd and its kin: relaxed, in the scope of the device, as in HIP. All return the old value.
#pragma once
#include <hip/layoutprobe_builtins.h>

#define LAYOUTPROBE_ATOMIC(type, name, builtin)                                              \
  LAYOUTPROBE_DEVICE type name(type* address, type value) {                                  \
    return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);              \
  }                                                                                          \
  LAYOUTPROBE_DEVICE type name##_system(type* address, type value) {                         \
    return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);             \
  }

#define LAYOUTPROBE_ATOMICS(type)                             \
  LAYOUTPROBE_ATOMIC(type, atomicAdd, __hip_atomic_fetch_add) \
  LAYOUTPROBE_ATOMIC(type, atomicSub, __hip_atomic_fetch_sub) \
  LAYOUTPROBE_ATOMIC(type, atomicMax, __hip_atomic_fetch_max) \
  LAYOUTPROBE_ATOMIC(type, atomicMin, __hip_atomic_fetch_min) \
  LAYOUTPROBE_ATOMIC(type, atomicExch, __hip_atomic_exchange)

#define LAYOUTPROBE_INTEGER_ATOMICS(type)                                                        \
  LAYOUTPROBE_ATOMICS(type)                                                                      \
  LAYOUTPROBE_ATOMIC(type, atomicAnd, __hip_atomic_fetch_and)                                    \
  LAYOUTPROBE_ATOMIC(type, atomicOr, __hip_atomic_fetch_or)                                      \
  LAYOUTPROBE_ATOMIC(type, atomicXor, __hip_atomic_fetch_xor)                                    \
  LAYOUTPROBE_DEVICE type atomicCAS(type* address, type expected, type value) {                  \
    __hip_atomic_compare_exchange_strong(address, &expected, value, __ATOMIC_RELAXED,            \
                                         __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);            \
    return expected;                                                                             \
  }

LAYOUTPROBE_INTEGER_ATOMICS(int)
LAYOUTPROBE_INTEGER_ATOMICS(unsigned int)
LAYOUTPROBE_INTEGER_ATOMICS(unsigned long long)
LAYOUTPROBE_ATOMICS(float)
LAYOUTPROBE_ATOMICS(double)
// Up to a limit and then 0; down from a limit, to which 0 and what is above it go.
LAYOUTPROBE_DEVICE unsigned atomicInc(unsigned* address, unsigned limit) {
  return __builtin_amdgcn_atomic_inc32(address, limit, __ATOMIC_RELAXED, "agent");
}
LAYOUTPROBE_DEVICE unsigned atomicDec(unsigned* address, unsigned limit) {
  return __builtin_amdgcn_atomic_dec32(address, limit, __ATOMIC_RELAXED, "agent");
}
// The same sums: what a card's memory may not be able to do is no matter here.
LAYOUTPROBE_DEVICE float unsafeAtomicAdd(float* address, float value) { return atomicAdd(address, value); }
LAYOUTPROBE_DEVICE double unsafeAtomicAdd(double* address, double value) { return atomicAdd(address, value); }
LAYOUTPROBE_DEVICE float safeAtomicAdd(float* address, float value) { return atomicAdd(address, value); }
LAYOUTPROBE_DEVICE double safeAtomicAdd(double* address, double value) { return atomicAdd(address, value); }
#undef LAYOUTPROBE_INTEGER_ATOMICS
#undef LAYOUTPROBE_ATOMICS
#undef LAYOUTPROBE_ATOMIC

// Votes of a workgroup, through a word of LDS.
LAYOUTPROBE_DEVICE int __syncthreads_count(int predicate) {
  __shared__ int layoutprobe_votes;
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) layoutprobe_votes = 0;
  __syncthreads();
  if (predicate) atomicAdd(&layoutprobe_votes, 1);
  __syncthreads();
  const int count = layoutprobe_votes;
  __syncthreads();
  return count;
}
LAYOUTPROBE_DEVICE int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
LAYOUTPROBE_DEVICE int __syncthreads_and(int predicate) { return __syncthreads_count(!predicate) == 0; }

// Clocks go on, and measure nothing on an emulator.
LAYOUTPROBE_DEVICE long long clock64() { return __builtin_readcyclecounter(); }
LAYOUTPROBE_DEVICE long long __clock64() { return clock64(); }
LAYOUTPROBE_DEVICE long long wall_clock64() { return __builtin_readsteadycounter(); }
