// Waves of a workgroup that order each other by words of LDS, and, in pairs with them, wrong ones.
// grid: 1  block: 96, three waves
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void __launch_bounds__(96)
#define SET(flag, value) __hip_atomic_store(&flag, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP)
#define LOOK(flag) __hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)
#define COMPILER() asm volatile("" ::: "memory")

__device__ inline int wave() { return __builtin_amdgcn_readfirstlane(threadIdx.x / 32); }

// The first wave hands its tile to the second, and then another one.
template <bool early, bool waits, bool acknowledged>
__device__ void hand_over(int* out) {
  __shared__ int tile[32], full, taken;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) full = taken = 0;
  __syncthreads();
  if (wave() == 0) {
    for (int step = 1; step < 3; ++step) {
      if (early) SET(full, step);
      COMPILER();
      tile[lane] = lane * step;  // fills
      if (!early) SET(full, step);
      if (acknowledged)
        while (LOOK(taken) != step) {}
      COMPILER();
    }
  } else if (wave() == 1) {
    for (int step = 1; step < 3; ++step) {
      if (waits)
        while (LOOK(full) != step) __builtin_amdgcn_s_sleep(1);
      COMPILER();
      out[step * 32 + lane] = tile[lane ^ 1];  // takes
      if (acknowledged) SET(taken, step);
    }
  }
}
KERNEL handed_over(int* out) { hand_over<false, true, true>(out); }
KERNEL told_early(int* out) { hand_over<true, true, true>(out); }
KERNEL unwaited(int* out) { hand_over<false, false, false>(out); }

// What the second wave was told by the first, it tells the third.
template <bool relayed>
__device__ void relay(int* out) {
  __shared__ int tile[32];
  __shared__ volatile int flag[3];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 3) flag[threadIdx.x] = 0;
  __syncthreads();
  if (wave() == 0) {
    tile[lane] = lane * 5;  // stores for the third
    flag[0] = 1;
  } else if (wave() == 1) {
    if (relayed)
      while (!flag[0]) {}
    flag[1] = 1;
  } else {
    while (!flag[1]) {}
    COMPILER();
    out[lane] = tile[lane];  // the third loads
  }
}
KERNEL relayed(int* out) { relay<true>(out); }
KERNEL not_relayed(int* out) { relay<false>(out); }

// A lock around a sum.
template <bool locked>
__device__ void add_under_lock(int* out) {
  __shared__ int lock, sum[32];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) lock = 0;
  if (threadIdx.x < 32) sum[lane] = 0;
  __syncthreads();
  if (locked) {
    if (lane == 0)
      while (atomicCAS(&lock, 0, 1)) {}
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  sum[lane] += wave();  // adds to the sum
  COMPILER();
  if (locked && lane == 0) SET(lock, 0);
  __syncthreads();
  out[lane] = sum[lane];
}
KERNEL locked(int* out) { add_under_lock<true>(out); }
KERNEL unlocked(int* out) { add_under_lock<false>(out); }

// Whoever comes last adds up.
template <int last>
__device__ void sum_up(int* out) {
  __shared__ int parts[96], count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  parts[threadIdx.x] = threadIdx.x * 3;  // leaves its part
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  int before = 0;
  if (threadIdx.x % 32 == 0) before = atomicAdd(&count, 1);
  before = __builtin_amdgcn_readfirstlane(before);
  if (before != last) return;
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  const int lane = threadIdx.x % 32;
  out[lane] = parts[lane] + parts[lane + 32] + parts[lane + 64];  // adds up
}
KERNEL last_wave(int* out) { sum_up<2>(out); }
KERNEL last_but_one(int* out) { sum_up<1>(out); }

// Two waves take one tile, and both must have taken it before it is filled again.
KERNEL two_took(int* out) {
  __shared__ int tile[32], full, taken;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) full = taken = 0;
  __syncthreads();
  for (int step = 1; step < 3; ++step) {
    if (wave() == 0) {
      while (LOOK(taken) < 2 * (step - 1)) {}
      tile[lane] = lane * step;
      SET(full, step);
    } else {
      while (LOOK(full) < step) {}
      out[wave() * 32 + lane] = tile[lane];
      COMPILER();
      if (lane == 0) __hip_atomic_fetch_add(&taken, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
  }
}

// The first wave fills a ring of slots, two others take what lies there, and count how many have taken it.
template <bool early, bool waits, bool taken_early>
__device__ void ring(int* out) {
  __shared__ int slots[3][32], full[3], taken[3];
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 3) full[threadIdx.x] = taken[threadIdx.x] = 0;
  __syncthreads();
  for (int step = 0; step < 8; ++step) {
    const int slot = step % 3, turn = step / 3;
    if (wave() == 0) {
      if (waits)
        while (LOOK(taken[slot]) < 2 * turn) __builtin_amdgcn_s_sleep(0);
      COMPILER();
      if (early && lane == 0) SET(full[slot], turn + 1);
      COMPILER();
      slots[slot][lane] = lane * step;  // puts in
      if (!early && lane == 0) SET(full[slot], turn + 1);
    } else {
      while (LOOK(full[slot]) < turn + 1) __builtin_amdgcn_s_sleep(0);
      if (taken_early && lane == 0) __hip_atomic_fetch_add(&taken[slot], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
      COMPILER();
      const int value = slots[slot][lane ^ 1];  // drains
      COMPILER();
      if (!taken_early && lane == 0) __hip_atomic_fetch_add(&taken[slot], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
      out[wave() * 32 + lane] = value;
    }
  }
}
KERNEL ringed(int* out) { ring<false, true, false>(out); }
KERNEL ring_told_early(int* out) { ring<true, true, false>(out); }
KERNEL ring_taken_early(int* out) { ring<false, true, true>(out); }
