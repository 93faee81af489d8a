#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
// acts on a flat [rows * width] buffer; launched from another translation unit
extern "C" __global__ __launch_bounds__(128) void bias_gelu_residual(const __half* __restrict__ inp, const __half* __restrict__ bias,
                                                                     const __half* __restrict__ skip, __half* __restrict__ outp, int width,
                                                                     int total) {
  int idx = blockIdx.x * 128 + threadIdx.x;
  if (idx >= total) return;
  float v = __half2float(inp[idx]) + __half2float(bias[idx % width]);
  float g = 0.5f * v * (1.f + erff(v * 0.70710678f));
  outp[idx] = __float2half(g + __half2float(skip[idx]));
}
