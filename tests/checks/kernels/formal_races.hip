// Rows of 32 in place, one a wave: each lane loads a value of the next row, too, which that row's wave overwrites.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void __launch_bounds__(64)

// The load stays, whatever becomes of its value.
static __device__ int loaded(const int* from) {
  int value = *from;
  asm volatile("" : "+v"(value));
  return value;
}

#define ROW \
  const int lane = threadIdx.x % 32, at = blockIdx.x * 64 + threadIdx.x; \
  const int next = loaded(row + (at + 32) % 128);  /* loads the next row */ \
  const int own = loaded(row + at) + 1;

KERNEL masked(int* row, int width) {
  ROW
  const int sum = own + (lane + 32 < width ? next : 0);
  row[at] = sum;
}

KERNEL masked_but_one(int* row, int width) {
  ROW
  const int sum = own + (lane + 1 < width ? 0 : next);
  row[at] = sum;
}

KERNEL decided(int* row, int width) {
  ROW
  if (__builtin_amdgcn_readfirstlane(next) > width) row[at] = own;
  else row[at] = own * 2;
}

KERNEL through_lds(int* row, int width) {
  __shared__ int kept[64];
  ROW
  kept[threadIdx.x] = next;
  __syncthreads();
  row[at] = own + kept[threadIdx.x ^ 1];
}

KERNEL through_lds_masked(int* row, int width) {
  __shared__ int kept[64];
  ROW
  kept[threadIdx.x] = next;
  __syncthreads();
  const int other = kept[threadIdx.x ^ 1];
  row[at] = own + (lane + 32 < width ? other : 0);
}

#define TILE(dropped)                                                                    \
  __shared__ int tile[64];                                                               \
  const int at = blockIdx.x * 64 + threadIdx.x;                                          \
  tile[threadIdx.x] = row[at];                                                           \
  const int other = loaded(tile + (threadIdx.x ^ 32)); /* loads the other wave's half */ \
  row[at] = loaded(tile + threadIdx.x) * 2 + ((dropped) ? 0 : other);

KERNEL lds_masked(int* row, int width) { TILE(threadIdx.x % 32 < width) }

KERNEL lds_used(int* row, int width) { TILE(threadIdx.x % 32 + 1 < width) }

// The other half is used behind a barrier, and loaded before it, too.
#define STEPS(dropped)                                                \
  __shared__ int tile[64];                                            \
  const int at = blockIdx.x * 64 + threadIdx.x;                       \
  int sum = row[at];                                                  \
  for (int step = 0; step < 3; ++step) {                              \
    tile[threadIdx.x] = sum;                                          \
    const int early = loaded(tile + (threadIdx.x ^ 32));              \
    __syncthreads();                                                  \
    sum += loaded(tile + (threadIdx.x ^ 32)) + ((dropped) ? 0 : early); \
    __syncthreads();                                                  \
  }                                                                   \
  row[at] = sum;

KERNEL lds_masked_in_a_loop(int* row, int width) { STEPS(threadIdx.x % 32 < width) }

KERNEL lds_used_in_a_loop(int* row, int width) { STEPS(step < width - 30) }
