// Asks for the block that fills the device best, launches it so, and asks what the kernel takes.
#include "sample.h"

constexpr int kLimit = 256;

__global__ __launch_bounds__(kLimit) void square(const int* in, int* out, int n) {
  __shared__ int piece[kLimit];
  const int last = blockDim.x - 1, lane = threadIdx.x;
  for (int from = blockIdx.x * blockDim.x; from < n; from += gridDim.x * blockDim.x) {
    piece[lane] = from + lane < n ? in[from + lane] : 0;
    __syncthreads();
    if (from + last - lane < n) out[from + last - lane] = piece[last - lane] * piece[last - lane];
    __syncthreads();
  }
}

int main() {
  const int n = 3000;
  static int host[n], found[n];
  int *in, *out, grid = 0, block = 0, most = 0, fewer = 0;
  hipFuncAttributes attributes;
  hipDeviceProp_t properties;
  for (int i = 0; i < n; i++) host[i] = i - 1000;
  CHECK(hipGetDeviceProperties(&properties, 0));
  CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, square, 0, 0));
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&most, square, block, 0));
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, square, block, 32768));
  CHECK(hipFuncGetAttributes(&attributes, (const void*)square));
  bool right = block == kLimit && grid == most * properties.multiProcessorCount && 0 < fewer && fewer < most;
  right = right && attributes.sharedSizeBytes == kLimit * sizeof(int) && attributes.maxThreadsPerBlock == kLimit;
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&out, sizeof host));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  square<<<3, block>>>(in, out, n);
  CHECK(hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; i++) right = right && found[i] == host[i] * host[i];
  CHECK(hipFree(in));
  CHECK(hipFree(out));
  return verdict(right);
}
