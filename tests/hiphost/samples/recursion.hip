// Calls that are calls: a function that calls itself, one by a pointer, one that may not be inlined.
#include "sample.h"

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int twice(int n) { return 2 * n; }
__device__ __noinline__ int store(int* out, int at, int value) {
  out[at] = value;  // fault 1: epilogue/out-of-bounds
  return value;
}
typedef int (*Function)(int);
__device__ Function functions[] = {fibonacci, twice};

__global__ void call(int* out) {
  const int i = threadIdx.x;
  const int value = functions[i / 32](i % 32 % 9);
#if FAULT == 1
  store(out, i + 64, value);
#else
  store(out, i, value);
#endif
}

int main() {
  const int expected[] = {0, 1, 1, 2, 3, 5, 8, 13, 21};
  int found[64], *out;
  bool right = true;
  CHECK(hipMalloc(&out, sizeof found));
  call<<<1, 64>>>(out);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < 32; i++) right = right && found[i] == expected[i % 9] && found[32 + i] == 2 * (i % 9);
  (void)hipFree(out);
  return verdict(right);
}
