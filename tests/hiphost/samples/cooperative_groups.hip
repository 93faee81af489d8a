// Tiles of a wave, groups of what comes together, and a barrier of the whole grid.
#include <hip/hip_cooperative_groups.h>

#include "sample.h"

namespace cg = cooperative_groups;
constexpr int kBlock = 64, kBlocks = 4, kCount = kBlock * kBlocks;

__global__ void total(const int* in, int* sums, int* out, int* odd) {
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  const int at = grid.thread_rank();
  int value = in[at];
  for (int delta = tile.size() / 2; delta; delta /= 2) value += tile.shfl_down(value, delta);
  if (tile.thread_rank() == 0) sums[at / 16] = value;
  if (in[at] & 1) {
    const cg::coalesced_group here = cg::coalesced_threads();
    if (here.thread_rank() == 0) atomicAdd(odd, int(here.size()));
  }
#if FAULT != 1
  grid.sync();
#endif
  int all = 0;
  for (int i = 0; i < kCount / 16; i++) all += sums[i];  // fault 1: races/global-handover
  out[at] = all;
}

int main() {
  int host[kCount], found[kCount], *in, *sums, *out, *odd, odds = 0, count = 0, expected = 0;
  bool right = true;
  for (int i = 0; i < kCount; i++) expected += host[i] = i * i % 17 - 4, odds += host[i] & 1;
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&sums, kCount / 16 * sizeof(int)));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMalloc(&odd, sizeof(int)));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  CHECK(hipMemset(odd, 0, sizeof(int)));
  void* arguments[] = {&in, &sums, &out, &odd};
  CHECK(hipLaunchCooperativeKernel(total, dim3(kBlocks), dim3(kBlock), arguments, 0, hipStreamDefault));
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  (void)hipMemcpy(&count, odd, sizeof count, hipMemcpyDeviceToHost);
  for (int value : found) right = right && value == expected;
  for (int* one : {in, sums, out, odd}) (void)hipFree(one);
  return verdict(right && count == odds);
}
