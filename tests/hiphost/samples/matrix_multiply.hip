// C = A B in tiles of LDS, with guards for a ragged edge.
#include "sample.h"

constexpr int kTile = 16;

__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0.0f;
  for (int k = 0; k < n; k += kTile) {
    as[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0.0f;
    bs[y][x] = k + y < n && column < n ? b[(k + y) * n + column] : 0.0f;  // fault 2: races/write-after-read
#if FAULT != 1
    __syncthreads();
#endif
    for (int i = 0; i < kTile; i++) sum += as[y][i] * bs[i][x];  // fault 1: races/read-after-write
#if FAULT != 2
    __syncthreads();
#endif
  }
#if FAULT == 3
  c[row * n + column] = sum;  // fault 3: epilogue/out-of-bounds
#else
  if (row < n && column < n) c[row * n + column] = sum;
#endif
}

int main() {
  const int n = 40;
  static float a[n * n], b[n * n], c[n * n];
  float *da, *db, *dc;
  bool right = true;
  for (int i = 0; i < n * n; i++) a[i] = float(i * 3 % 13 - 6), b[i] = float(i * 5 % 11 - 5);
  CHECK(hipMalloc(&da, sizeof a));
  CHECK(hipMalloc(&db, sizeof b));
  CHECK(hipMalloc(&dc, sizeof c));
  CHECK(hipMemcpy(da, a, sizeof a, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(db, b, sizeof b, hipMemcpyHostToDevice));
  const dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  multiply<<<grid, block>>>(da, db, dc, n);
  (void)hipMemcpy(c, dc, sizeof c, hipMemcpyDeviceToHost);
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++) {
      float sum = 0.0f;
      for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
      right = right && c[y * n + x] == sum;
    }
  for (float* one : {da, db, dc}) (void)hipFree(one);
  return verdict(right);
}
