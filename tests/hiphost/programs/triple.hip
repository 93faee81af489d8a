// A single-source HIP program: <<<>>>, a template, a __device__ variable, two launches on a stream.
#include "host.h"

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds = 0, hipStream_t stream = nullptr);
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);

__device__ int bias = 40;

static __device__ int id() {
  return __builtin_amdgcn_workgroup_id_x() * 32 + __builtin_amdgcn_workitem_id_x();
}

template <typename T> __global__ void axpy(T a, const T *x, T *y, int n) {
  int i = id();
  if (i < n) y[i] = a * x[i] + y[i] + bias;
}

int main() {
  enum { N = 70 };
  float x[N], y[N], back[N], *dx, *dy;
  for (int i = 0; i < N; i++) x[i] = i, y[i] = 2 * i;
  CHECK(hipMalloc((void **)&dx, sizeof x));
  CHECK(hipMalloc((void **)&dy, sizeof y));
  CHECK(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dy, y, sizeof y, hipMemcpyHostToDevice));
  axpy<float><<<3, 32>>>(3.0f, dx, dy, N);
  CHECK(hipGetLastError());
  int value = -10;
  CHECK(hipMemcpyToSymbol(&bias, &value, sizeof value, 0, hipMemcpyHostToDevice));
  axpy<float><<<dim3(3), dim3(32)>>>(0.5f, dx, dy, N);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(back, dy, sizeof back, hipMemcpyDeviceToHost));
  for (int i = 0; i < N; i++) EXPECT(back[i] == 5 * i + 40 + 0.5f * i - 10);
  int blocks = 0;
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)&axpy<float>, 256, 0));
  printf("axpy as expected, %d blocks of 256 fit\n", blocks);
}
