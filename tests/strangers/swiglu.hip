// silu_and_mul: out[t][i] = silu(x[t][i]) * x[t][d + i], as in the feed-forward block of Llama.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HIP_CHECK(e)                                                          \
  do {                                                                        \
    hipError_t err = (e);                                                     \
    if (err != hipSuccess) {                                                  \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, hipGetErrorString(err)); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

template <typename T>
__device__ __forceinline__ float silu(const T& x) {
  const float f = static_cast<float>(x);
  return f / (1.0f + expf(-f));
}

template <typename T>
__global__ void act_and_mul_kernel(T* __restrict__ out, const T* __restrict__ input, const int d) {
  const int64_t token_idx = blockIdx.x;
  for (int64_t idx = threadIdx.x; idx < d; idx += blockDim.x) {
    const T x = input[token_idx * 2 * d + idx];
    const T y = input[token_idx * 2 * d + d + idx];
    out[token_idx * d + idx] = static_cast<T>(silu(x) * static_cast<float>(y));
  }
}

int main(int argc, char** argv) {
  const int num_tokens = argc > 1 ? atoi(argv[1]) : 7;
  const int d = argc > 2 ? atoi(argv[2]) : 176;
  std::vector<__half> h_in((size_t)num_tokens * 2 * d), h_out((size_t)num_tokens * d);
  for (size_t i = 0; i < h_in.size(); ++i) h_in[i] = __float2half((float)rand() / RAND_MAX - 0.5f);

  __half *d_in, *d_out;
  HIP_CHECK(hipMalloc(&d_in, h_in.size() * sizeof(__half)));
  HIP_CHECK(hipMalloc(&d_out, h_out.size() * sizeof(__half)));
  HIP_CHECK(hipMemcpy(d_in, h_in.data(), h_in.size() * sizeof(__half), hipMemcpyHostToDevice));

  dim3 grid(num_tokens);
  dim3 block(std::min(d, 128));
  act_and_mul_kernel<__half><<<grid, block>>>(d_out, d_in, d);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipMemcpy(h_out.data(), d_out, h_out.size() * sizeof(__half), hipMemcpyDeviceToHost));
  printf("%f\n", __half2float(h_out[0]));
  HIP_CHECK(hipFree(d_in));
  HIP_CHECK(hipFree(d_out));
  return 0;
}
