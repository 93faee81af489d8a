// A bitonic sort of a block in dynamic LDS.
#include "sample.h"

constexpr int kCount = 256;

__global__ void sort(int* data) {
  extern __shared__ int keys[];
  const int i = threadIdx.x;
  keys[i] = data[i];
  __syncthreads();
  for (int size = 2; size <= kCount; size *= 2)
    for (int stride = size / 2; stride; stride /= 2) {
      const int other = i ^ stride;
      if (other > i && (keys[i] > keys[other]) == !(i & size)) {  // fault 1: races/read-after-write
        const int held = keys[i];
        keys[i] = keys[other];
        keys[other] = held;  // fault 1: races/write-after-write
      }
#if FAULT == 2
      if (other > i) __syncthreads();  // fault 2: races/divergent-barrier
#elif FAULT != 1
      __syncthreads();
#endif
    }
  data[i] = keys[i];
}

int main() {
  int host[kCount], found[kCount], *data;
  bool right = true;
  long before = 0, after = 0;
  for (int i = 0; i < kCount; i++) before += host[i] = (i * 7919 + 13) % 1021;
  CHECK(hipMalloc((void**)&data, sizeof host));
  CHECK(hipMemcpy(data, host, sizeof host, hipMemcpyHostToDevice));
  sort<<<1, kCount, sizeof host>>>(data);
  (void)hipMemcpy(found, data, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < kCount; i++) after += found[i], right = right && (!i || found[i - 1] <= found[i]);
  (void)hipFree(data);
  return verdict(right && before == after);
}
