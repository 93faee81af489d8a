// Q, K and V projections as one grouped GEMM: each problem has its own pointers and its own width (GQA), one launch.
#include <hip/hip_runtime.h>
#include <algorithm>
#include <stdexcept>

constexpr int GROUPS = 3;
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

struct Problem {
  const _Float16* a;  // [m, k]
  const _Float16* b;  // [k, n]
  float* c;           // [m, n]
  int m, n, k;
};

struct GroupedArgs {
  Problem problem[GROUPS];
  int count;
};

__global__ void __launch_bounds__(64) grouped_gemm(GroupedArgs args) {
  __shared__ _Float16 As[16][24];
  __shared__ _Float16 Bs[16][40];
  const int group = blockIdx.z;
  if (group >= args.count) return;
  const Problem& p = args.problem[group];
  const int M = p.m, N = p.n, K = p.k;
  const int row0 = blockIdx.y * 16, col0 = blockIdx.x * 32;
  if (row0 >= M || col0 >= N) return;
  const _Float16* A = p.a;
  const _Float16* B = p.b;
  float* C = p.c;
  const int t = threadIdx.x, lane = t & 31, wave = t >> 5;
  float8 acc = {};
  for (int k0 = 0; k0 < K; k0 += 16) {
    for (int e = t; e < 16 * 16; e += 64) {
      const int r = e / 16, c = e % 16;
      As[r][c] = row0 + r < M && k0 + c < K ? A[(row0 + r) * K + k0 + c] : (_Float16)0.f;
    }
    for (int e = t; e < 16 * 32; e += 64) {
      const int r = e / 32, c = e % 32;
      Bs[r][c] = k0 + r < K && col0 + c < N ? B[(k0 + r) * N + col0 + c] : (_Float16)0.f;
    }
    __syncthreads();
    half16 a, b;
    for (int i = 0; i < 16; ++i) {
      a[i] = As[lane & 15][i];
      b[i] = Bs[i][wave * 16 + (lane & 15)];
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
    __syncthreads();
  }
  const int col = col0 + wave * 16 + (lane & 15);
  for (int i = 0; i < 8; ++i) {
    const int row = row0 + 2 * i + (lane >> 4);
    if (row < M && col < N) C[row * N + col] = acc[i];
  }
}

void qkv_projection(const _Float16* x, const _Float16* wq, const _Float16* wk, const _Float16* wv, float* q, float* k,
                    float* v, int tokens, int nq, int nkv, int hidden, hipStream_t stream) {
  if (!tokens) throw std::invalid_argument("no tokens");
  GroupedArgs args;
  args.problem[0] = {x, wq, q, tokens, nq, hidden};
  args.problem[1] = {x, wk, k, tokens, nkv, hidden};
  args.problem[2] = {x, wv, v, tokens, nkv, hidden};
  args.count = GROUPS;
  const int widest = std::max(nq, nkv);
  grouped_gemm<<<dim3((widest + 31) / 32, (tokens + 15) / 16, GROUPS), 64, 0, stream>>>(args);
}
