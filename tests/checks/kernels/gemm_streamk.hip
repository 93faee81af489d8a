// Stream-K: the steps of k of all tiles, one behind the other, in equal shares, one a workgroup. Shares of a tile meet
// in a workspace (zero before), and who brings the last step of a tile writes it as f16. Two waves make 16 x 32.
// -DSCALED: by a factor for each column.  grid: any  block: 64
#include <hip/hip_runtime.h>

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void __launch_bounds__(64)
gemm(const _Float16* A, const _Float16* B,
#ifdef SCALED
     const float* scale,
#endif
     _Float16* C, float* ws, int* done, int M, int N, int K)
{
  __shared__ int last;
  const int lane = threadIdx.x % 32, wave = threadIdx.x / 32, line = lane % 16;
  const int across = (N + 31) / 32, steps = (K + 15) / 16, all = (M + 15) / 16 * across * steps;
  const int share = (all + gridDim.x - 1) / gridDim.x, end = min((int)(blockIdx.x + 1) * share, all);

  for (int at = blockIdx.x * share; at < end;) {
    const int tile = at / steps, first = at % steps, next = min(steps, first + end - at);
    const int m0 = tile / across * 16, n0 = tile % across * 32 + wave * 16;

    float8 acc = {};
    for (int s = first; s < next; ++s) {
      half16 a, b;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int k = s * 16 + i;
        a[i] = m0 + line < M && k < K ? A[(m0 + line) * K + k] : (_Float16)0;
        b[i] = n0 + line < N && k < K ? B[k * N + n0 + line] : (_Float16)0;
      }
      acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
    }

    float* part = ws + tile * 512 + wave * 256;
#pragma unroll
    for (int v = 0; v < 8; ++v) atomicAdd(part + v * 32 + lane, acc[v]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(done + tile, next - first) + next - first == steps;
    __syncthreads();

    if (last) {
      __threadfence();
#pragma unroll
      for (int v = 0; v < 8; ++v) {
        const int row = m0 + 2 * v + lane / 16, col = n0 + line;
        const float sum = __hip_atomic_load(part + v * 32 + lane, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#ifdef SCALED
        if (row < M && col < N) C[row * N + col] = (_Float16)(sum * scale[col]);
#else
        if (row < M && col < N) C[row * N + col] = (_Float16)sum;
#endif
        part[v * 32 + lane] = 0.0f;
      }
      if (threadIdx.x == 0) done[tile] = 0;
    }
    __syncthreads();
    at += next - first;
  }
}
