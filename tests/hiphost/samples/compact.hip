// Keeps the even numbers: each wave counts its own by a ballot, and takes room for them by one atomic.
#include "sample.h"

__global__ void compact(const int* in, int* out, int* count, int n) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize;
  const bool keep = at < n && in[at] % 2 == 0;
  const unsigned long long kept = __ballot(keep);
  int base = 0;
  if (lane == 0) {
#if FAULT == 1
    base = *count;
    *count = base + __popcll(kept);  // fault 1: races/global-overwrite
#else
    base = atomicAdd(count, __popcll(kept));
#endif
  }
  base = __shfl(base, 0);
  if (keep && FAULT == 0) out[base + __popcll(kept & ((1ull << lane) - 1))] = in[at];
}

int main() {
  const int n = 600;
  int host[n], found[n], *in, *out, *count, evens = 0, sum = 0, total = 0;
  for (int i = 0; i < n; i++) {
    host[i] = i * i % 91;
    if (host[i] % 2 == 0) evens++, sum += host[i];
  }
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMalloc(&count, sizeof(int)));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  CHECK(hipMemset(count, 0, sizeof(int)));
  compact<<<(n + 127) / 128, 128>>>(in, out, count, n);
  (void)hipMemcpy(&total, count, sizeof total, hipMemcpyDeviceToHost);
  if (FAULT == 0) (void)hipMemcpy(found, out, total * sizeof(int), hipMemcpyDeviceToHost);
  for (int i = 0; FAULT == 0 && i < total; i++) sum -= found[i];
  for (int* one : {in, out, count}) (void)hipFree(one);
  return verdict(total == evens && sum == 0);
}
