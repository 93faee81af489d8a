// Small kernels with and without a fault in LDS; two waves, unless it says otherwise.
// grid: 1  block: 64
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void __launch_bounds__(64)

__device__ inline int wave() { return __builtin_amdgcn_readfirstlane(threadIdx.x / 32); }

KERNEL handed_over(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x * 3;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

KERNEL no_barrier(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x * 3;        // no_barrier stores
  asm volatile("" ::: "memory");              // the compiler sees that the two never meet, and would swap them
  out[threadIdx.x] = tile[threadIdx.x ^ 32];  // no_barrier loads
}

KERNEL own_wave_only(int* out) {  // a wave needs no barrier with itself
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x * 3;
  out[threadIdx.x] = tile[threadIdx.x ^ 16];
}

KERNEL overwritten_early(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x * 3;
  __syncthreads();
  const int mine = tile[threadIdx.x ^ 32];     // overwritten_early loads
  tile[threadIdx.x] = threadIdx.x * 5 + mine;  // overwritten_early stores
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

KERNEL overwritten_in_time(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x * 3;
  __syncthreads();
  const int mine = tile[threadIdx.x ^ 32];
  __syncthreads();
  tile[threadIdx.x] = threadIdx.x * 5 + mine;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 32];
}

KERNEL both_store(int* out) {
  __shared__ int tile[32];
  if (wave() == 0)
    tile[threadIdx.x % 32] = out[threadIdx.x];  // both_store: wave 0
  else
    tile[threadIdx.x % 32] = -5;                // both_store: wave 1
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x % 32];
}

KERNEL both_store_the_same(int* out) {
  __shared__ int tile[32];
  if (wave() == 0)
    tile[threadIdx.x % 32] = out[threadIdx.x] * 0;
  else
    tile[threadIdx.x % 32] = 0;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x % 32];
}

KERNEL both_add(int* out) {
  __shared__ int sum;
  sum = 0;
  __syncthreads();
  atomicAdd(&sum, (int)threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = sum;
}

template <int who>
__device__ inline void add_and_read(int* out) {
  __shared__ int sum[32];
  if (wave() == 0) sum[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&sum[threadIdx.x % 32], out[threadIdx.x]);                         // added_up adds
  if (wave() == who) out[threadIdx.x] = ((volatile int*)sum)[threadIdx.x % 32];  // added_up reads
}

KERNEL added_up_read_by_0(int* out) { add_and_read<0>(out); }

KERNEL added_up_read_by_1(int* out) { add_and_read<1>(out); }

KERNEL added_up_overwritten(int* out) {  // by the wave that the emulator lets add last
  __shared__ int sum[32];
  if (wave() == 0) sum[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&sum[threadIdx.x % 32], out[threadIdx.x]);                         // overwritten adds
  if (wave() == 1) ((volatile int*)sum)[threadIdx.x % 32] = -5;                // overwritten stores
  __syncthreads();
  out[threadIdx.x] = sum[threadIdx.x % 32];
}

KERNEL zeroed_and_counted(int* out) {  // no barrier; later counts hide no earlier ones
  __shared__ int counts[32];
  if (wave() == 0) counts[threadIdx.x] = 0;                          // counted stores
  for (int i = 1; i < 4; i++) atomicAdd(&counts[(threadIdx.x * i + 5) % 32], 3);  // counted adds
  __syncthreads();
  out[threadIdx.x] = counts[threadIdx.x % 32];
}

KERNEL scattered_over(int* out) {  // by lanes of the same wave, which is no race, and by those of the other
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x * 3;              // scattered stores
  tile[(threadIdx.x * 37 + 11) % 64] = threadIdx.x;  // scattered again
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

KERNEL barrier_in_one_wave(int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  if (wave() == 0) __builtin_amdgcn_s_barrier();  // one wave's barrier
  tile[threadIdx.x] += out[threadIdx.x];
  __builtin_amdgcn_s_barrier();  // everybody's barrier
  out[threadIdx.x] = tile[threadIdx.x];
}

KERNEL barrier_skipped(int* out) {
  __shared__ int tile[64];
  tile[63 - threadIdx.x] = threadIdx.x;
  if (wave() == 0) __syncthreads();  // skipped by the other
  out[threadIdx.x] = tile[threadIdx.x];  // reads what was stored before
}

KERNEL leaves_early(int* out) {  // the other wave has nothing to do with what lies behind
  __shared__ int tile[64];
  if (wave() == 1) return;
  tile[31 - threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

KERNEL specialised_waves(int* out) {  // each wave has barriers of its own, equally many
  __shared__ int tile[32];
  if (wave() == 0) {
    tile[threadIdx.x % 32] = threadIdx.x * 7;
    __syncthreads();
    out[threadIdx.x] = 0;
  } else {
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x % 32];
  }
}

KERNEL half_stored(int* out) {
  __shared__ int tile[64];
  if (threadIdx.x % 2 == 0) tile[threadIdx.x] = threadIdx.x;  // half_stored stores
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];  // half_stored loads
}

KERNEL half_stored_half_used(int* out) {
  __shared__ int tile[64];
  if (threadIdx.x % 2 == 0) tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  const int value = tile[63 - threadIdx.x];
  out[threadIdx.x] = threadIdx.x % 2 ? value : -1;
}

KERNEL beyond_the_end(int* out) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + out[0]];  // beyond_the_end loads
}

KERNEL no_lds(int* out) { out[threadIdx.x] += 1; }
