// Templates: one kernel for any type and any function, given as an object or a lambda.
#include "sample.h"

template <typename T, typename F>
__global__ void transform(const T* in, T* out, int n, F function) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = function(in[i]);
}

template <typename T>
struct Affine {
  T factor, offset;
  __host__ __device__ T operator()(T value) const { return factor * value + offset; }
};

template <typename T, typename F>
bool applied(F function) {
  const int n = 150;
  T host[n], found[n], *in, *out;
  bool right = true;
  for (int i = 0; i < n; i++) host[i] = T(i % 31 - 15);
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  transform<<<(n + 63) / 64, 64>>>(in, out, n, function);
  CHECK(hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) right = right && found[i] == function(host[i]);
  CHECK(hipFree(in));
  CHECK(hipFree(out));
  return right;
}

int main() {
  const int mask = 5;
  bool right = applied<float>(Affine<float>{2.0f, -1.0f}) && applied<short>(Affine<short>{3, 4});
  right = right && applied<double>([] __host__ __device__(double x) { return x * x; });
  right = right && applied<int>([mask] __host__ __device__(int x) { return x ^ mask; });
  return verdict(right);
}
