// Coefficients of a polynomial in constant memory, a sum in a variable of the device.
#include "sample.h"

constexpr int kDegree = 7;
__constant__ int coefficients[kDegree + 1];
__device__ int total;

__global__ void evaluate(const int* at, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = 0;
  for (int power = kDegree; power >= 0; power--) value = value * at[i] + coefficients[power];
#if FAULT == 1
  total += value;  // fault 1: races/global-overwrite
#else
  atomicAdd(&total, value);
#endif
}

int main() {
  const int n = 200, zero = 0;
  int host[n], factors[kDegree + 1], *at, expected = 0, found = 0;
  for (int i = 0; i <= kDegree; i++) factors[i] = 3 - i;
  for (int i = 0; i < n; i++) {
    int value = 0;
    host[i] = i % 5 - 2;
    for (int power = kDegree; power >= 0; power--) value = value * host[i] + factors[power];
    expected += value;
  }
  CHECK(hipMalloc(&at, sizeof host));
  CHECK(hipMemcpy(at, host, sizeof host, hipMemcpyHostToDevice));
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(coefficients), factors, sizeof factors));
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(total), &zero, sizeof zero));
  evaluate<<<(n + 63) / 64, 64>>>(at, n);
  (void)hipMemcpyFromSymbol(&found, HIP_SYMBOL(total), sizeof found);
  (void)hipFree(at);
  return verdict(found == expected);
}
