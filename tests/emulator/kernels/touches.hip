// Waves touch cells of LDS and of global memory as a plan says: per step and wave what, and where.
#include <hip/hip_runtime.h>

enum What { nothing, lds_read, lds_write, lds_add, read, write, add };
constexpr int kCells = 64;

extern "C" __global__ void k(const int* plan, int* memory, int* sums, int steps) {
  __shared__ int cells[kCells];
  const int lane = threadIdx.x % 32, waves = blockDim.x / 32;
  const int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 32);
  const int all = gridDim.x * waves, mine = blockIdx.x * waves + wave;
  for (int i = threadIdx.x; i < kCells; i += blockDim.x) cells[i] = i;
  __syncthreads();
  volatile int* lds = cells;
  volatile int* global = memory;
  int sum = 0;
  for (int step = 0; step < steps; step++) {
    const int* one = plan + (step * all + mine) * 3;
    const int what = one[0], first = one[1], width = one[2], cell = first + lane % width;
    if (what == lds_read) sum += lds[cell];
    if (what == lds_write) lds[cell] = mine + step;
    if (what == lds_add) atomicAdd(cells + cell, 1);
    if (what == read) sum += global[cell];
    if (what == write) global[cell] = mine + step;
    if (what == add) atomicAdd(memory + cell, 1);
    if (plan[steps * all * 3 + step]) __syncthreads();
  }
  sums[mine * 32 + lane] = sum;
}
