#include <torch/extension.h>
#include <hip/hip_runtime.h>
// loss[i] = logsumexp(logits[i, :]) - logits[i, labels[i]]; a wave for each row
__global__ void cross_entropy_fwd(const float* __restrict__ logits, const int64_t* __restrict__ labels,
                                  float* __restrict__ loss, float* __restrict__ lse, int classes) {
  const int row = blockIdx.x, lane = threadIdx.x;
  const float* x = logits + (int64_t)row * classes;
  float m = -INFINITY, s = 0.f;
  for (int i = lane; i < classes; i += warpSize) {
    const float v = x[i], n = fmaxf(m, v);
    s = s * __expf(m - n) + __expf(v - n);
    m = n;
  }
  for (int o = warpSize / 2; o > 0; o /= 2) {
    const float m2 = __shfl_xor(m, o), s2 = __shfl_xor(s, o), n = fmaxf(m, m2);
    s = (m == n ? s : s * __expf(m - n)) + (m2 == n ? s2 : s2 * __expf(m2 - n));
    m = n;
  }
  if (lane == 0) {
    const float l = m + __logf(s);
    lse[row] = l;
    loss[row] = l - x[labels[row]];
  }
}

std::vector<at::Tensor> cross_entropy(at::Tensor logits, at::Tensor labels) {
  int rows = logits.size(0), classes = logits.size(1);
  auto loss = at::empty({rows}, logits.options());
  auto lse = at::empty({rows}, logits.options());
  cross_entropy_fwd<<<rows, 32>>>(logits.data_ptr<float>(), labels.data_ptr<int64_t>(), loss.data_ptr<float>(),
                                  lse.data_ptr<float>(), classes);
  return {loss, lse};
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &cross_entropy); }
