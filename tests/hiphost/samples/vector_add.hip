// c = a + b, in double precision, for a count that is no multiple of the block.
#include "sample.h"

__global__ void add(const double* a, const double* b, double* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if FAULT == 1
  c[i] = i < n ? a[i] + b[i] : 0.0;  // fault 1: epilogue/out-of-bounds
#else
  if (i < n) c[i] = a[i] + b[i];
#endif
}

int main() {
  const int n = 1000;
  static double a[n], b[n], c[n];
  double *da, *db, *dc;
  bool right = true;
  for (int i = 0; i < n; i++) a[i] = i * 0.5, b[i] = i * i * 0.25;
  for (double** one : {&da, &db, &dc}) CHECK(hipMalloc(one, sizeof a));
  CHECK(hipMemcpy(da, a, sizeof a, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(db, b, sizeof b, hipMemcpyHostToDevice));
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  (void)hipMemcpy(c, dc, sizeof c, hipMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) right = right && c[i] == a[i] + b[i];
  for (double* one : {da, db, dc}) (void)hipFree(one);
  return verdict(right);
}
