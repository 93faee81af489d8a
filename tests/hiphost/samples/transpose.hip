// A transpose through a padded tile of LDS, on a matrix whose sides are no multiples of the tile's.
#include "sample.h"

constexpr int kTile = 16;

__global__ void transpose(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * kTile + tx, y = blockIdx.y * kTile + ty;
#if FAULT == 1
  tile[ty][tx] = in[y * columns + x];  // fault 1: memory/load-out-of-bounds
#else
  if (x < columns && y < rows) tile[ty][tx] = in[y * columns + x];
#endif
#if FAULT != 2
  __syncthreads();
#endif
  x = blockIdx.y * kTile + tx, y = blockIdx.x * kTile + ty;
#if FAULT == 3
  if (x < columns && y < rows) out[y * rows + x] = tile[tx][ty];  // fault 3: lds-safety/undefined-read, fault 3: races/global-overwrite
#else
  if (x < rows && y < columns) out[y * rows + x] = tile[tx][ty];  // fault 2: races/read-after-write
#endif
}

int main() {
  const int rows = 37, columns = 50, n = rows * columns;
  static float host[n], found[n];
  float *in, *out;
  bool right = true;
  for (int i = 0; i < n; i++) host[i] = float(i * i % 1009);
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), block(kTile, kTile);
  hipLaunchKernelGGL(transpose, grid, block, 0, hipStreamDefault, in, out, rows, columns);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < columns; x++) right = right && found[x * rows + y] == host[y * columns + x];
  (void)hipFree(in);
  (void)hipFree(out);
  return verdict(right);
}
