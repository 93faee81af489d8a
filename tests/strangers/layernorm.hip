#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>

#define WARP 32
#define FULL_MASK 0xffffffffffffffffull

__device__ __forceinline__ float2 warp_reduce(float2 v) {
#pragma unroll
  for (int o = WARP / 2; o > 0; o /= 2) {
    v.x += __shfl_down(v.x, o, WARP);
    v.y += __shfl_down(v.y, o, WARP);
  }
  return v;
}

// one block per row, mean and variance in one pass
template <int THREADS>
__global__ void layernorm_fwd(__half* __restrict__ out, float* __restrict__ mean, float* __restrict__ rstd,
                              const __half* __restrict__ inp, const float* __restrict__ weight,
                              const float* __restrict__ bias, int rows, int cols, float eps) {
  __shared__ float2 partial[THREADS / WARP];
  const __half* x = inp + (size_t)blockIdx.x * cols;
  float2 sums = make_float2(0.f, 0.f);
  for (int i = threadIdx.x; i < cols; i += THREADS) {
    float v = __half2float(x[i]);
    sums.x += v;
    sums.y += v * v;
  }
  sums = warp_reduce(sums);
  if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = sums;
  __syncthreads();
  float2 total = make_float2(0.f, 0.f);
  for (int w = 0; w < THREADS / WARP; w++) {
    total.x += partial[w].x;
    total.y += partial[w].y;
  }
  const float mu = total.x / cols;
  const float rs = rsqrtf(total.y / cols - mu * mu + eps);
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = mu;
    rstd[blockIdx.x] = rs;
  }
  for (int i = threadIdx.x; i < cols; i += THREADS) {
    float v = (__half2float(x[i]) - mu) * rs;
    out[(size_t)blockIdx.x * cols + i] = __float2half(v * weight[i] + bias[i]);
  }
}

extern "C" void launch_layernorm(__half* out, float* mean, float* rstd, const __half* inp, const float* weight,
                                 const float* bias, int rows, int cols, hipStream_t stream) {
  constexpr int threads = 64;
  layernorm_fwd<threads><<<rows, threads, 0, stream>>>(out, mean, rstd, inp, weight, bias, rows, cols, 1e-5f);
}
