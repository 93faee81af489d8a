// A barrier of the whole grid, made of a counter that the last block resets and a generation that the others wait for:
// steps of a relaxation in one launch.
#include "sample.h"

#include <utility>
#include <vector>

struct Barrier {
  unsigned arrived, generation;
};

__device__ void wait_for_all(Barrier *barrier) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned before = __hip_atomic_load(&barrier->generation, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    const unsigned place = atomicAdd(&barrier->arrived, 1u);  // fault 1: races/store-and-add
    if (place == gridDim.x - 1) {
      barrier->arrived = 0;
#if FAULT != 1
      __threadfence();
#endif
      atomicAdd(&barrier->generation, 1u);
    } else {
      while (__hip_atomic_load(&barrier->generation, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == before) {
        __builtin_amdgcn_s_sleep(1);
      }
    }
#if FAULT != 2
    __threadfence();
#endif
  }
  __syncthreads();
}

__global__ void relax(float *from, float *to, Barrier *barrier, int n, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int step = 0; step < steps; ++step) {
    const float left = i > 0 ? from[i - 1] : 0;  // fault 2: races/stale-cache
    const float right = i + 1 < n ? from[i + 1] : 0;
    to[i] = 0.5f * (left + right);
    wait_for_all(barrier);
    float *const other = from;
    from = to;
    to = other;
  }
}

int main() {
  const int n = 512, steps = 5;
  std::vector<float> x(n), y(n), got(n);
  for (int i = 0; i < n; ++i) x[i] = i % 11;
  float *a, *b;
  Barrier *barrier;
  CHECK(hipMalloc(&a, n * sizeof(float)));
  CHECK(hipMalloc(&b, n * sizeof(float)));
  CHECK(hipMalloc(&barrier, sizeof(Barrier)));
  CHECK(hipMemset(barrier, 0, sizeof(Barrier)));
  CHECK(hipMemcpy(a, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
  relax<<<n / 128, 128>>>(a, b, barrier, n, steps);
  CHECK(hipMemcpy(got.data(), b, n * sizeof(float), hipMemcpyDeviceToHost));
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < n; ++i) y[i] = 0.5f * ((i > 0 ? x[i - 1] : 0) + (i + 1 < n ? x[i + 1] : 0));
    std::swap(x, y);
  }
  CHECK(hipFree(a));
  CHECK(hipFree(b));
  CHECK(hipFree(barrier));
  return verdict(got == x);
}
