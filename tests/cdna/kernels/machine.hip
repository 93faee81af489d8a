// What the machine of GFX9 must give a kernel: ids, arguments, LDS, lanes, scratch.
#include <hip/hip_runtime.h>

extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void transpose(const unsigned* a, unsigned* b, int rows, int cols) {
  __shared__ unsigned tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y, z = blockIdx.z * rows * cols;
  for (int i = 0; i < 32; i += 8)
    if (x < cols && y + i < rows) tile[threadIdx.y + i][threadIdx.x] = a[z + (y + i) * cols + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (x < rows && y + i < cols) b[z + (y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void reduce(const int* in, int* out) {
  __shared__ int part[4];
  int x = in[blockIdx.x * 256 + threadIdx.x];
  for (int step = 32; step; step /= 2) x += __shfl_xor(x, step);
  if (threadIdx.x % 64 == 0) part[threadIdx.x / 64] = x;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}

template <int Control, int Rows>
__device__ int moved(int x) {
  return __builtin_amdgcn_update_dpp(0, x, Control, Rows, 0xf, false);
}

extern "C" __global__ void scan(const int* in, int* out) {
  int x = in[blockIdx.x * 64 + threadIdx.x];
  x += moved<0x111, 0xf>(x);  // row_shr:1, 2, 4, 8
  x += moved<0x112, 0xf>(x);
  x += moved<0x114, 0xf>(x);
  x += moved<0x118, 0xf>(x);
  x += moved<0x142, 0xa>(x);  // row_bcast:15 to rows 1 and 3
  x += moved<0x143, 0xc>(x);  // row_bcast:31 to rows 2 and 3
  out[blockIdx.x * 64 + threadIdx.x] = x;
}

extern "C" __global__ void indexed(const int* in, int* out) {
  volatile int table[64];
  for (int i = 0; i < 64; ++i) table[i] = (i * 3 + threadIdx.x) % 251;
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  out[at] = table[in[at]];
}

extern "C" __global__ void votes(const int* in, unsigned long long* out) {
  int x = in[blockIdx.x * 64 + threadIdx.x];
  out[blockIdx.x * 64 + threadIdx.x] = __ballot(x > 0) ^ (unsigned long long)__all(x < 9) << __lane_id();
}
