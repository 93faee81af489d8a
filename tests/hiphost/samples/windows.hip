// Sums over windows that reach into the neighbours' elements, picked by a table of indices and a table of flags.
#include "sample.h"

constexpr int kBlock = 128, kReach = 3, kCount = 4 * kBlock;

__global__ void windows(const int* in, const int* pick, const int* wanted, int* out) {
  __shared__ int near[kBlock + 2 * kReach];
  const int first = blockIdx.x * kBlock, i = threadIdx.x;
#if FAULT == 2
  if (i % 4) near[i + kReach] = in[first + i];
#else
  near[i + kReach] = in[first + i];
#endif
  if (i < kReach) {
    near[i] = first ? in[first - kReach + i] : 0;
#if FAULT != 1
    near[kBlock + kReach + i] = first + kBlock < kCount ? in[first + kBlock + i] : 0;
#endif
  }
  __syncthreads();
  int sum = 0;
  for (int at = 0; at <= 2 * kReach; at++) sum += near[i + at];  // fault 1: lds-safety/undefined-read // fault 2: lds-safety/undefined-read
  if (wanted[first + i])  // fault 4: memory/undefined-control
    out[pick[first + i]] = sum;  // fault 3: memory/undefined-address
}

int main() {
  static int host[kCount], order[kCount], all[kCount], found[kCount];
  int *in, *pick, *wanted, *out;
  for (int i = 0; i < kCount; i++) {
    host[i] = i * 37 % 101;
    order[i] = (i + 5) % kCount;
    all[i] = 1;
  }
  for (int** at : {&in, &pick, &wanted, &out}) CHECK(hipMalloc(at, sizeof host));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(pick, order, FAULT == 3 ? sizeof order / 2 : sizeof order, hipMemcpyHostToDevice));
  if (FAULT != 4) CHECK(hipMemcpy(wanted, all, sizeof all, hipMemcpyHostToDevice));
  windows<<<kCount / kBlock, kBlock>>>(in, pick, wanted, out);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  bool right = true;
  for (int i = 0; i < kCount; i++) {
    int sum = 0;
    for (int at = i - kReach; at <= i + kReach; at++) sum += at < 0 || at >= kCount ? 0 : host[at];
    right &= found[order[i]] == sum;
  }
  for (int* at : {in, pick, wanted, out}) (void)hipFree(at);
  return verdict(right);
}
