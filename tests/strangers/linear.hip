#include <torch/extension.h>
#include <ATen/hip/HIPContext.h>
#include <c10/hip/HIPGuard.h>
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <vector>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

// out = relu(x @ w^T + bias); x: [M, K], w: [N, K]
__global__ void linear_relu_kernel(const half* x, const half* w, const float* bias, half* out, int M, int N, int K) {
  const int lane = threadIdx.x;
  const int m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
  const int r = m0 + lane % 16, c = n0 + lane % 16;
  float8 acc = {0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f};
  for (int k = 0; k < K; k += 16) {
    half16 a, b;
#pragma unroll
    for (int i = 0; i < 16; i++) {
      a[i] = (r < M && k + i < K) ? (_Float16)x[r * K + k + i] : (_Float16)0.f;
      b[i] = (c < N && k + i < K) ? (_Float16)w[c * K + k + i] : (_Float16)0.f;
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
  if (c >= N) return;
  for (int i = 0; i < 8; i++) {
    int row = m0 + 2 * i + lane / 16;
    if (row < M) out[row * N + c] = __float2half(fmaxf(acc[i] + bias[c], 0.f));
  }
}

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
  TORCH_CHECK(x.is_cuda(), "x must be on the device");
  TORCH_CHECK(x.dim() == 2 && w.dim() == 2, "2-d only, got ", x.dim());
  TORCH_CHECK(x.scalar_type() == torch::kHalf, "x must be half");
  const at::cuda::OptionalCUDAGuard device_guard(device_of(x));
  const int M = x.size(0), K = x.size(1), N = w.size(0);
  auto out = torch::empty({M, N}, x.options());
  dim3 grid((N + 15) / 16, (M + 15) / 16);
  auto stream = at::cuda::getCurrentCUDAStream();
  linear_relu_kernel<<<grid, 32, 0, stream>>>(
      reinterpret_cast<const half*>(x.data_ptr<at::Half>()), reinterpret_cast<const half*>(w.data_ptr<at::Half>()),
      bias.data_ptr<float>(), reinterpret_cast<half*>(out.data_ptr<at::Half>()), M, N, K);
  C10_HIP_KERNEL_LAUNCH_CHECK();
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("linear_relu", &linear_relu, "fused linear + relu", py::arg("x"), py::arg("w"), py::arg("bias"));
}
