// A table of device functions, called through pointers: each lane chooses its own.
#include "sample.h"

typedef int (*Operation)(int, int);
__device__ __noinline__ int sum(int a, int b) { return a + b; }
__device__ __noinline__ int difference(int a, int b) { return a - b; }
__device__ __noinline__ int larger(int a, int b) { return a > b ? a : b; }
__device__ Operation operations[] = {sum, difference, larger};

__global__ void apply(const int* a, const int* b, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = operations[i % 3](a[i], b[i]);
}

int main() {
  const int n = 90;
  int a[n], b[n], found[n], *da, *db, *out;
  bool right = true;
  for (int i = 0; i < n; i++) a[i] = i * 3 % 17, b[i] = i * 5 % 13;
  for (int** one : {&da, &db, &out}) CHECK(hipMalloc(one, sizeof a));
  CHECK(hipMemcpy(da, a, sizeof a, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(db, b, sizeof b, hipMemcpyHostToDevice));
  apply<<<(n + 63) / 64, 64>>>(da, db, out, n);
  CHECK(hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) {
    const int expected = i % 3 == 0 ? a[i] + b[i] : i % 3 == 1 ? a[i] - b[i] : a[i] > b[i] ? a[i] : b[i];
    right = right && found[i] == expected;
  }
  for (int* one : {da, db, out}) CHECK(hipFree(one));
  return verdict(right);
}
