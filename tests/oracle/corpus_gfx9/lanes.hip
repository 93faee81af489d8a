// Reductions and scans over waves of 64 lanes: DPP of GFX9, lane moves, and sub-dword operands.
#include <hip/hip_runtime.h>

template <int Control, int Rows>
__device__ int moved(int old, int x) {
  return __builtin_amdgcn_update_dpp(old, x, Control, Rows, 0xf, false);
}

extern "C" __global__ void scan(const int* in, int* out) {
  int x = in[threadIdx.x];
  x += moved<0x111, 0xf>(0, x);  // row_shr:1
  x += moved<0x112, 0xf>(0, x);
  x += moved<0x114, 0xf>(0, x);
  x += moved<0x118, 0xf>(0, x);
  x += moved<0x142, 0xa>(0, x);  // row_bcast:15
  x += moved<0x143, 0xc>(0, x);  // row_bcast:31
  out[threadIdx.x] = x;
}

extern "C" __global__ void moves(const int* in, int* out) {
  int x = in[threadIdx.x];
  out[threadIdx.x] = moved<0x138, 0xf>(x, x) + moved<0x1b, 0xf>(0, x) + moved<0x140, 0xf>(0, x);  // wave_shr:1
  out[threadIdx.x + 64] = __builtin_amdgcn_mov_dpp(x, 0x141, 0xf, 0x3, true) + __builtin_amdgcn_readlane(x, 40);
  out[threadIdx.x + 128] = __builtin_amdgcn_ds_bpermute(x * 4, x) + __builtin_amdgcn_readfirstlane(x);
}

extern "C" __global__ void softmax(const float* in, float* out, int n) {
  __shared__ float part[16];
  float top = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) top = fmaxf(top, in[blockIdx.x * n + i]);
  for (int step = 32; step; step /= 2) top = fmaxf(top, __shfl_xor(top, step));
  if (threadIdx.x % 64 == 0) part[threadIdx.x / 64] = top;
  __syncthreads();
  for (unsigned i = 0; i < blockDim.x / 64; ++i) top = fmaxf(top, part[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += __expf(in[blockIdx.x * n + i] - top);
  for (int step = 32; step; step /= 2) sum += __shfl_xor(sum, step);
  if (threadIdx.x % 64 == 0) part[threadIdx.x / 64] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned i = 0; i < blockDim.x / 64; ++i) sum += part[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = __expf(in[blockIdx.x * n + i] - top) / sum;
}

extern "C" __global__ void bytes(const unsigned* a, const unsigned* b, unsigned* out) {
  unsigned x = a[threadIdx.x], y = b[threadIdx.x];
  out[threadIdx.x] = (x >> 16 & 255) + (y & 0xffff) | (x >> 8 & 255) * (y >> 24) << 16;
}
