// Kernels whose workgroups meet in global memory, right ones and, in pairs with them, wrong ones. Two waves
// a workgroup, three workgroups; `work` is cleared, `out` counts up.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void __launch_bounds__(64)
#define AT(group) ((group) * 64 + threadIdx.x)
#define RELAXED(pointer, value) \
  __hip_atomic_fetch_add(pointer, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define LOOK(pointer) __hip_atomic_load(pointer, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define SET(pointer, value) __hip_atomic_store(pointer, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define COMPILER() asm volatile("" ::: "memory")

enum { COUNTER = 1000, FLAGS = 1004 };

// Whoever comes last adds up what all left.
template <bool before, bool after, bool early, int last>
__device__ void sum_up(int* out, int* work) {
  __shared__ int mine;
  if (early && threadIdx.x == 0) mine = RELAXED(&work[COUNTER], 1);
  COMPILER();
  work[AT(blockIdx.x)] = threadIdx.x + blockIdx.x;  // leaves its part
  if (before) __threadfence();
  if (!early) {
    __syncthreads();
    if (threadIdx.x == 0) mine = RELAXED(&work[COUNTER], 1);
  }
  __syncthreads();
  if (mine != last) return;
  if (after) __threadfence();
  COMPILER();
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += work[AT(i)];  // adds up
  out[threadIdx.x] = sum;
  if (threadIdx.x == 0) work[COUNTER] = 0;
}
KERNEL last_arriver(int* out, int* work) { sum_up<true, true, false, 2>(out, work); }
KERNEL last_without_fence(int* out, int* work) { sum_up<true, false, false, 2>(out, work); }
KERNEL counts_early(int* out, int* work) { sum_up<true, true, true, 2>(out, work); }
KERNEL last_but_one(int* out, int* work) { sum_up<true, true, false, 1>(out, work); }

// One wave of each workgroup, no barrier: only the fence waits for the store.
template <bool fence>
__device__ void waves_count(int* out, int* work) {
  work[AT(blockIdx.x)] = threadIdx.x + blockIdx.x;  // a wave leaves its part
  if (fence) __threadfence();
  COMPILER();
  const int before = RELAXED(&work[COUNTER + threadIdx.x % 32], 1);
  if (before != 5) return;
  __threadfence();
  out[threadIdx.x] = work[AT(0)] + work[AT(1)] + work[AT(2)] + work[AT(0) ^ 32] + work[AT(1) ^ 32] + work[AT(2) ^ 32];
}
KERNEL waves_announce(int* out, int* work) { waves_count<true>(out, work); }
KERNEL waves_announce_unfenced(int* out, int* work) { waves_count<false>(out, work); }

// A flag, as C++ has it, and as volatile.
KERNEL release_acquire(int* out, int* work) {
  if (blockIdx.x) {
    work[AT(blockIdx.x)] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
      __hip_atomic_store(&work[FLAGS + blockIdx.x], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    return;
  }
  for (int i = 1; i < 3; ++i) {
    if (threadIdx.x == 0)
      while (!__hip_atomic_load(&work[FLAGS + i], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) {}
    __syncthreads();
    out[AT(i)] = work[AT(i)];
  }
}
template <bool fence>
__device__ void stream_k(int* out, int* work) {
  if (blockIdx.x) {
    work[AT(blockIdx.x)] = threadIdx.x;  // stores its part
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *(volatile int*)&work[FLAGS + blockIdx.x] = 1;
    return;
  }
  for (int i = 1; i < 3; ++i) {
    while (!*(volatile int*)&work[FLAGS + i]) {}
    if (fence) __threadfence();
    COMPILER();
    out[AT(i)] = work[AT(i)];  // takes the part
  }
}
KERNEL volatile_flag(int* out, int* work) { stream_k<true>(out, work); }
KERNEL volatile_flag_unfenced(int* out, int* work) { stream_k<false>(out, work); }

// Workgroups take turns and add to the same elements.
template <bool fence>
__device__ void turns(int* out, int* work) {
  if (threadIdx.x == 0)
    while (LOOK(&work[COUNTER]) != (int)blockIdx.x) {}
  __syncthreads();
  if (fence) __threadfence();
  COMPILER();
  out[threadIdx.x] += blockIdx.x + 1;  // takes its turn
  if (fence) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) SET(&work[COUNTER], (int)blockIdx.x + 1);
}
KERNEL semaphore(int* out, int* work) { turns<true>(out, work); }
KERNEL semaphore_among_halves(int* out, int* work) {  // the kernel loads halves of dwords, too
  turns<true>(out, work);
  out[300 + AT(blockIdx.x)] = ((short*)work)[600 + AT(blockIdx.x)];
}
KERNEL semaphore_unfenced(int* out, int* work) { turns<false>(out, work); }

// Two workgroups add, and the third one takes the sum when the second, or both, have told it.
template <bool both>
__device__ void takes_sum(int* out, int* work) {
  if (blockIdx.x < 2) {
    atomicAdd(&work[threadIdx.x], 5);  // adds its part
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) SET(&work[FLAGS + blockIdx.x], 1);
    return;
  }
  for (int i = both ? 0 : 1; i < 2; ++i)
    while (!LOOK(&work[FLAGS + i])) {}
  __threadfence();
  out[threadIdx.x] = work[threadIdx.x];  // takes the sum
}
KERNEL both_have_added(int* out, int* work) { takes_sum<true>(out, work); }
KERNEL one_has_added(int* out, int* work) { takes_sum<false>(out, work); }

KERNEL compare_and_swap(int* out, int* work) {
  int old = out[threadIdx.x], assumed;
  do {
    assumed = old;
    old = atomicCAS(&out[threadIdx.x], assumed, assumed + 3);
  } while (old != assumed);
}

// In place.
KERNEL own_elements(int* out, int* work) { out[AT(blockIdx.x)] = out[AT(blockIdx.x)] * 2 + 1; }
KERNEL transposes(int* out, int* work) {
  const int row = AT(blockIdx.x) / 12, column = AT(blockIdx.x) % 12;
  const int value = row < 12 ? out[column * 12 + row] : 0;  // loads the mirrored element
  if (row < 12) out[row * 12 + column] = value;  // stores in place
}
template <bool barrier>
__device__ void reverses(int* out) {
  const int value = out[AT(blockIdx.x) ^ 63];  // loads the other end
  if (barrier) __syncthreads();
  COMPILER();
  out[AT(blockIdx.x)] = value;  // stores at this end
}
KERNEL reversed(int* out, int* work) { reverses<true>(out); }
KERNEL reversed_without_barrier(int* out, int* work) { reverses<false>(out); }
KERNEL product_in_place(int* out, int* work) {  // A = A * B, a column of A to each workgroup
  int sum = 0;
  for (int k = 0; k < 3; ++k) sum += out[threadIdx.x * 3 + k] * (k + 1);  // loads its row
  out[threadIdx.x * 3 + blockIdx.x] = sum;  // stores one element of the row
}

// Tiles that overlap.
KERNEL shifted_back(int* out, int* work) {
  const int at = blockIdx.x * 48 + threadIdx.x;
  out[at] = at * 5;
}
KERNEL overlapping(int* out, int* work) {
  const int at = blockIdx.x * 48 + threadIdx.x;
  out[at] = at * 5 + blockIdx.x;  // stores its tile
}

KERNEL zeroes_all(int* out, int* work) {  // one workgroup clears what all add to
  if (blockIdx.x == 0)
    for (int i = 0; i < 3; ++i) out[AT(i)] = 0;  // clears
  __syncthreads();
  out[AT(blockIdx.x)] += 7;  // increments
}
