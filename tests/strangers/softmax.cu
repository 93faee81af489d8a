#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>
#include <hip/hip_runtime.h>

#include <limits>
#include <type_traits>

template <typename scalar_t, typename acc_t = float>
__global__ void softmax_rows(const scalar_t* __restrict__ input, scalar_t* __restrict__ output, int64_t cols) {
  extern __shared__ __align__(16) unsigned char raw[];
  acc_t* buf = reinterpret_cast<acc_t*>(raw);
  const int64_t row = blockIdx.x;
  const int tid = threadIdx.x;
  input += row * cols;
  output += row * cols;

  acc_t best = -std::numeric_limits<acc_t>::infinity();
  for (int64_t c = tid; c < cols; c += blockDim.x) best = max(best, static_cast<acc_t>(input[c]));
  buf[tid] = best;
  __syncthreads();
  for (int s = blockDim.x >> 1; s > 0; s >>= 1) {
    if (tid < s) buf[tid] = max(buf[tid], buf[tid + s]);
    __syncthreads();
  }
  best = buf[0];
  __syncthreads();

  acc_t sum = 0;
  for (int64_t c = tid; c < cols; c += blockDim.x) sum += std::exp(static_cast<acc_t>(input[c]) - best);
  buf[tid] = sum;
  __syncthreads();
  for (int s = blockDim.x >> 1; s > 0; s >>= 1) {
    if (tid < s) buf[tid] += buf[tid + s];
    __syncthreads();
  }
  const acc_t inv = acc_t(1) / buf[0];
  for (int64_t c = tid; c < cols; c += blockDim.x)
    output[c] = static_cast<scalar_t>(std::exp(static_cast<acc_t>(input[c]) - best) * inv);
}

at::Tensor softmax_forward(const at::Tensor& input) {
  TORCH_CHECK(input.dim() == 2, "expected a matrix");
  auto x = input.contiguous();
  auto y = at::empty_like(x);
  const auto rows = x.size(0);
  const auto cols = x.size(1);
  const int threads = 64;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "softmax_forward", [&] {
    softmax_rows<scalar_t><<<rows, threads, threads * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), cols);
  });
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &softmax_forward); }
