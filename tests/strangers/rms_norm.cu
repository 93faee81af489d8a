#include <torch/extension.h>
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

template <typename scalar_t>
__global__ void __launch_bounds__(256) fused_add_rms_norm_kernel(
    scalar_t* __restrict__ input,            // [..., hidden_size]
    scalar_t* __restrict__ residual,         // [..., hidden_size]
    const scalar_t* __restrict__ weight,     // [hidden_size]
    const float epsilon, const int num_tokens, const int hidden_size) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  __shared__ float partial[8];
  float variance = 0.0f;
  const int64_t base = (int64_t)blockIdx.x * hidden_size;
  for (int idx = threadIdx.x; idx < hidden_size; idx += blockDim.x) {
    scalar_t z = input[base + idx];
    z += residual[base + idx];
    float x = static_cast<float>(z);
    variance += x * x;
    residual[base + idx] = z;
  }
  for (int o = warp.size() / 2; o > 0; o /= 2) variance += warp.shfl_down(variance, o);
  if (warp.thread_rank() == 0) partial[threadIdx.x / 32] = variance;
  block.sync();
  if (threadIdx.x < 32) {
    float v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    for (int o = 16; o > 0; o /= 2) v += warp.shfl_xor(v, o);
    if (threadIdx.x == 0) partial[0] = rsqrtf(v / hidden_size + epsilon);
  }
  block.sync();
  const float s_variance = partial[0];
  for (int idx = threadIdx.x; idx < hidden_size; idx += blockDim.x) {
    float x = static_cast<float>(residual[base + idx]);
    input[base + idx] = static_cast<scalar_t>(x * s_variance) * weight[idx];
  }
}

void fused_add_rms_norm(torch::Tensor& input, torch::Tensor& residual, torch::Tensor& weight, double epsilon) {
  int hidden_size = input.size(-1);
  int num_tokens = input.numel() / hidden_size;
  dim3 grid(num_tokens);
  dim3 block(std::min(hidden_size, 256));
  const at::cuda::OptionalCUDAGuard device_guard(device_of(input));
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, input.scalar_type(), "fused_add_rms_norm_kernel", [&] {
    fused_add_rms_norm_kernel<scalar_t><<<grid, 256, 0, stream>>>(
        input.data_ptr<scalar_t>(), residual.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), epsilon, num_tokens, hidden_size);
  });
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("fused_add_rms_norm", &fused_add_rms_norm); }
