// Each block turns its piece of an array round, in LDS whose size the launch says.
#include "sample.h"

__global__ void reverse(const int* in, int* out) {
  extern __shared__ int piece[];
  const int lane = threadIdx.x, from = blockIdx.x * blockDim.x;
  piece[lane] = in[from + lane];  // fault 2: lds-safety/out-of-bounds
#if FAULT != 1
  __syncthreads();
#endif
  out[from + lane] = piece[blockDim.x - 1 - lane];  // fault 1: races/read-after-write
}

int main() {
  const int block = 128, n = 3 * block;
  int host[n], found[n], *in, *out;
  bool right = true;
  for (int i = 0; i < n; i++) host[i] = i * 7 % 100;
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  reverse<<<n / block, block, FAULT == 2 ? block : block * sizeof(int)>>>(in, out);
  (void)hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) right = right && found[i] == host[i / block * block + block - 1 - i % block];
  (void)hipFree(in);
  (void)hipFree(out);
  return verdict(right);
}
