// Arrays that the compiler keeps in registers, at an index that a scalar holds: GFX9's mode of VGPRs that M0 picks.
#include <hip/hip_runtime.h>

typedef _Float16 half2_t __attribute__((ext_vector_type(2)));
typedef float row_t __attribute__((ext_vector_type(16)));

template <typename T, int n> __device__ void fill(T* r, const T* x) {
#pragma unroll
  for (int k = 0; k < n; ++k) r[k] = x[(blockIdx.x * 64 + threadIdx.x) * n + k];
}
template <typename T, int n> __device__ void put(T* y, const T* r) {
#pragma unroll
  for (int k = 0; k < n; ++k) y[(blockIdx.x * 64 + threadIdx.x) * n + k] = r[k];
}

extern "C" __global__ void reads(const float* x, float* y, int i) {
  float r[16];
  fill<float, 16>(r, x);
  y[blockIdx.x * 64 + threadIdx.x] = r[(i + blockIdx.x) & 15];
}

extern "C" __global__ void writes(const float* x, float* y, int i) {
  float r[16];
  fill<float, 16>(r, x);
  r[(i + blockIdx.x) & 15] = 0.5f * threadIdx.x;
  put<float, 16>(y, r);
}

extern "C" __global__ void loop(const int* x, int* y, int i, int j, int n) {
  int r[16];
  fill<int, 16>(r, x);
#pragma unroll 1
  for (int s = 0; s < n; ++s) r[(i + s) & 15] += r[(j + s + blockIdx.x) & 15] * 3;
  put<int, 16>(y, r);
}

extern "C" __global__ void doubles(const double* x, double* y, int i, int j) {
  double r[8];
  fill<double, 8>(r, x);
  r[i & 7] = r[j & 7] * 2.5;
  put<double, 8>(y, r);
}

extern "C" __global__ void halves(const half2_t* x, half2_t* y, int i, int j) {
  half2_t r[16];
  fill<half2_t, 16>(r, x);
  r[i & 15] = r[j & 15] + r[(j + 3) & 15];
  put<half2_t, 16>(y, r);
}

// Only some lanes are active.
extern "C" __global__ void some_lanes(const float* x, float* y, int i, int n) {
  float r[16];
  fill<float, 16>(r, x);
  for (int s = 0; s < n; ++s)
    if ((threadIdx.x >> (s & 3)) & 1) r[(i + s) & 15] = r[(i + 3 * s) & 15] + 1.0f;
  put<float, 16>(y, r);
}

// The registers of a matrix instruction's D.
extern "C" __global__ void accumulators(const float* a, const float* b, float* y, int i) {
  row_t d = {};
  d = __builtin_amdgcn_mfma_f32_32x32x2f32(a[threadIdx.x], b[threadIdx.x], d, 0, 0, 0);
  y[threadIdx.x] = d[i & 15];
  d[i & 15] = 3.0f;
#pragma unroll
  for (int k = 0; k < 16; ++k) y[64 + threadIdx.x * 16 + k] = d[k];
}
