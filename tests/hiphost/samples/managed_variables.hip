// Variables of both sides, memory of a pool, complex numbers, and what a program asks a device.
#include "sample.h"

#include <hip/hip_complex.h>

__managed__ int counter = 5;
__managed__ hipFloatComplex turned[32];

__global__ void turn(const hipFloatComplex* by, int count) {
  if (threadIdx.x < count) turned[threadIdx.x] = hipCmulf(make_hipFloatComplex(threadIdx.x, 1), by[threadIdx.x]);  // fault 1: memory/load-out-of-bounds
  atomicAdd(&counter, 1);
}

int main() {
  hipFloatComplex i[32], *by;
  hipMemPool_t pool;
  hipStream_t stream;
  uint64_t kept = 1 << 20, found = 0;
  int attribute = -1;
  hipUUID id;
  for (hipFloatComplex& one : i) one = make_hipFloatComplex(0, 1);
  counter += 10;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
  CHECK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &kept));
  CHECK(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &found));
  CHECK(hipMallocFromPoolAsync((void**)&by, sizeof i, pool, stream));
  CHECK(hipMemcpyAsync(by, i, sizeof i, hipMemcpyHostToDevice, stream));
  CHECK(hipDeviceGetUuid(&id, 0));
  CHECK(hipDeviceGetAttribute(&attribute, hipDeviceAttributeL2CacheSize, 0));
  turn<<<1, 64, 0, stream>>>(by + (FAULT == 1), 32);
  (void)hipStreamSynchronize(stream);
  bool right = counter == 79 && found == kept && attribute == 0;
  for (int n = 0; n < 32; n++) right = right && hipCrealf(turned[n]) == -1 && hipCimagf(turned[n]) == n;
  (void)hipFreeAsync(by, stream);
  (void)hipStreamDestroy(stream);
  return verdict(right);
}
