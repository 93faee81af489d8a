#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
// x [N, C, HW]: normalised over groups of C / G channels, affine per channel
template <typename T, int THREADS>
__global__ void group_norm_kernel(const T* __restrict__ X, const float* __restrict__ gamma, const float* __restrict__ beta, T* __restrict__ Y,
                                  const int C, const int HW, const int G, const float eps) {
  const int n = blockIdx.x / G, g = blockIdx.x % G, D = C / G;
  const long off = ((long)n * C + g * D) * HW;
  const int count = D * HW;
  float s1 = 0, s2 = 0;
  for (int i = threadIdx.x; i < count; i += THREADS) {
    float v = (float)X[off + i];
    s1 += v;
    s2 += v * v;
  }
  __shared__ float r1[THREADS], r2[THREADS];
  r1[threadIdx.x] = s1, r2[threadIdx.x] = s2;
  __syncthreads();
  for (int st = THREADS / 2; st > 0; st >>= 1) {
    if (threadIdx.x < st) r1[threadIdx.x] += r1[threadIdx.x + st], r2[threadIdx.x] += r2[threadIdx.x + st];
    __syncthreads();
  }
  const float mean = r1[0] / count, rstd = rsqrtf(r2[0] / count - mean * mean + eps);
  for (int i = threadIdx.x; i < count; i += THREADS) {
    const int c = g * D + i / HW;
    Y[off + i] = (T)(((float)X[off + i] - mean) * rstd * gamma[c] + beta[c]);
  }
}
torch::Tensor group_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, int64_t groups, double eps) {
  int N = x.size(0), C = x.size(1), HW = x.numel() / (N * C);
  auto y = torch::empty_like(x);
  group_norm_kernel<float, 64><<<N * groups, 64, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(), y.data_ptr<float>(), C, HW, groups, eps);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("group_norm", &group_norm); }
