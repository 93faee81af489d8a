// Small kernels whose waves meet in global memory; two waves a workgroup, two workgroups. `work` is cleared.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void __launch_bounds__(64)

KERNEL own_only(int* out, int* work) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  work[at] = at * 3;
  asm volatile("" ::: "memory");
  out[at] = work[at];
}

KERNEL halves(_Float16* out, _Float16* work) {  // two waves share dwords, and no element
  const int at = blockIdx.x * 64 + threadIdx.x % 32 * 2 + threadIdx.x / 32;
  work[at] = (_Float16)at;
  asm volatile("" ::: "memory");
  out[at] = work[at];
}

KERNEL no_barrier(int* out, int* work) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  work[at] = at * 3;             // no_barrier stores
  asm volatile("" ::: "memory");
  out[at] = work[at ^ 32];       // no_barrier loads
}

KERNEL with_barrier(int* out, int* work) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  work[at] = at * 3;             // with_barrier stores
  __syncthreads();
  out[at] = work[at ^ 32];       // with_barrier loads
}

KERNEL next_workgroup(int* out, int* work) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  work[at] = at * 3;             // next_workgroup stores
  asm volatile("" ::: "memory");
  out[at] = work[at ^ 64];       // next_workgroup loads
}

KERNEL everybody_adds(int* out, int* work) { atomicAdd(&out[threadIdx.x], (int)blockIdx.x + 1); }

KERNEL one_stores(int* out, int* work) {
  if (blockIdx.x == 0) out[threadIdx.x] = 7;       // one_stores stores
  else atomicAdd(&out[threadIdx.x], 1);            // one_stores adds
}

KERNEL waits_for_a_counter(int* out, int* work) {
  if (blockIdx.x == 0) {
    out[threadIdx.x] = 7;  // waits_for_a_counter stores
    __threadfence();
    atomicAdd(&work[threadIdx.x], 1);
  } else {
    while (atomicAdd(&work[threadIdx.x], 0) == 0) {}
    __threadfence();
    atomicAdd(&out[threadIdx.x], 1);
  }
}
