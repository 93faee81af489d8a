// A tiled GEMM without matrix instructions, launched several times: gemm SIZE LAUNCHES
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int T = 16;

__global__ void tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float x[T][T], y[T][T];
  const int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < k; at += T) {
    x[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0;
    y[threadIdx.y][threadIdx.x] = col < n && at + threadIdx.y < k ? b[(at + threadIdx.y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < T; i++) sum += x[threadIdx.y][i] * y[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

int main(int argc, char** argv) {
  const int s = atoi(argv[1]), launches = atoi(argv[2]);
  const size_t count = size_t(s) * s, bytes = count * sizeof(float);
  std::vector<float> a(count), b(count), c(count);
  for (size_t i = 0; i < count; i++) a[i] = i * 7 % 5, b[i] = i * 3 % 7;
  float *da, *db, *dc;
  hipMalloc(&da, bytes), hipMalloc(&db, bytes), hipMalloc(&dc, bytes);
  hipMemcpy(da, a.data(), bytes, hipMemcpyHostToDevice);
  hipMemcpy(db, b.data(), bytes, hipMemcpyHostToDevice);
  const dim3 grid((s + T - 1) / T, (s + T - 1) / T), block(T, T);
  for (int i = 0; i < launches; i++) tiled<<<grid, block>>>(da, db, dc, s, s, s);
  hipMemcpy(c.data(), dc, bytes, hipMemcpyDeviceToHost);
  int wrong = 0;
  for (int row = 0; row < s; row += 7)
    for (int col = 0; col < s; col++) {
      float sum = 0;
      for (int i = 0; i < s; i++) sum += a[size_t(row) * s + i] * b[size_t(i) * s + col];
      wrong += sum != c[size_t(row) * s + col];
    }
  hipFree(da), hipFree(db), hipFree(dc);
  puts(wrong ? "failed" : "passed");
  return wrong != 0;
}
