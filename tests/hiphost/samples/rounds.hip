// Rounds of a relay: each wave adds what the one before it has left, with barriers in branches that all waves take
// alike; waves without work leave early, as the hardware allows.
#include "sample.h"

constexpr int kWaves = 6, kIdle = 2, kWave = 32, kRounds = 4, kBlocks = 3;

__global__ void relay(const int* in, int* out, const int* turns) {
  __shared__ int left[2][kWaves * kWave];
  const int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / kWave), lane = threadIdx.x % kWave;
  if (wave >= kWaves) return;
  left[0][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
#if FAULT == 2
  const int rounds = turns[wave];
#else
  const int rounds = turns[0];
#endif
  int at = 0;
  for (int round = 0; round < rounds; round++, at ^= 1) {
    const int before = left[at][(wave + kWaves - 1) % kWaves * kWave + lane];
    const int mine = left[at][threadIdx.x];
#if FAULT == 1
    if (wave == 0) __syncthreads();  // fault 1: races/divergent-barrier
#endif
#if FAULT == 3
    if (wave % 2) {
      left[at ^ 1][threadIdx.x] = mine + before;
      __syncthreads();
      __syncthreads();
    } else {
      left[at ^ 1][threadIdx.x] = mine + before;
      __syncthreads();
    }
#else
    if (blockIdx.x % 2) {
      left[at ^ 1][threadIdx.x] = mine + before;
      __syncthreads();
    } else {
      left[at ^ 1][threadIdx.x] = before + mine;
      __syncthreads();
    }
#endif
  }
  __syncthreads();  // fault 2: races/divergent-barrier // fault 3: races/divergent-barrier
  out[blockIdx.x * kWaves * kWave + threadIdx.x] = left[at][threadIdx.x];
}

int main() {
  constexpr int count = kWaves * kWave;
  static int host[count], found[kBlocks * count], turns[kWaves], now[count], next[count];
  int *in, *out, *counts;
  for (int i = 0; i < count; i++) host[i] = now[i] = i % 11;
  for (int wave = 0; wave < kWaves; wave++) turns[wave] = kRounds + wave % 2;
  for (int round = 0; round < kRounds; round++) {
    for (int i = 0; i < count; i++) next[i] = now[i] + now[(i + count - kWave) % count];
    for (int i = 0; i < count; i++) now[i] = next[i];
  }
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof found));
  CHECK(hipMalloc(&counts, sizeof turns));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(counts, turns, sizeof turns, hipMemcpyHostToDevice));
  relay<<<kBlocks, (kWaves + kIdle) * kWave>>>(in, out, counts);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < kBlocks * count; i++) right &= found[i] == now[i % count];
  for (int* at : {in, out, counts}) (void)hipFree(at);
  return verdict(right);
}
