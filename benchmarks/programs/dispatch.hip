// Many launches that do little: dispatch empty|add LAUNCHES ELEMENTS
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void empty() {}
__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  const bool adds = !strcmp(argv[1], "add");
  const int launches = atoi(argv[2]), n = atoi(argv[3]);
  std::vector<float> values(n);
  for (int i = 0; i < n; i++) values[i] = i;
  float *a, *b, *c;
  hipMalloc(&a, 4 * n), hipMalloc(&b, 4 * n), hipMalloc(&c, 4 * n);
  hipMemcpy(a, values.data(), 4 * n, hipMemcpyHostToDevice);
  hipMemcpy(b, values.data(), 4 * n, hipMemcpyHostToDevice);
  for (int i = 0; i < launches; i++)
    if (adds) add<<<(n + 255) / 256, 256>>>(a, b, c, n);
    else empty<<<1, 64>>>();
  int wrong = hipDeviceSynchronize() != hipSuccess;
  if (adds) {
    hipMemcpy(values.data(), c, 4 * n, hipMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) wrong += values[i] != 2 * i;
  }
  hipFree(a), hipFree(b), hipFree(c);
  puts(wrong ? "failed" : "passed");
  return wrong != 0;
}
