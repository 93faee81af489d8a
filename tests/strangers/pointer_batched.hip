// hgemmBatched: like cublasHgemmBatched, arrays of device pointers that lie in device memory themselves.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>

#define HIP_CHECK(x) do { hipError_t e_ = (x); if (e_ != hipSuccess) { std::fprintf(stderr, "%s\n", hipGetErrorString(e_)); std::exit(1); } } while (0)

using half_t = _Float16;
typedef half_t frag_ab __attribute__((ext_vector_type(16)));
typedef float frag_c __attribute__((ext_vector_type(8)));

template <int TILE>
__global__ __launch_bounds__(32) void hgemm_batched(const half_t* const* __restrict__ Aarray, const half_t* const* __restrict__ Barray,
                                                    float** __restrict__ Carray, int m, int n, int k, float alpha) {
  const half_t* A = Aarray[blockIdx.z];
  const half_t* Bt = Barray[blockIdx.z];  // [n, k]
  float* C = Carray[blockIdx.z];
  const int row = blockIdx.y * TILE + (threadIdx.x & 15), col = blockIdx.x * TILE + (threadIdx.x & 15);
  frag_c acc = {};
  for (int k0 = 0; k0 < k; k0 += TILE) {
    frag_ab a, b;
#pragma unroll
    for (int i = 0; i < TILE; ++i) {
      a[i] = row < m && k0 + i < k ? A[(size_t)row * k + k0 + i] : half_t(0);
      b[i] = col < n && k0 + i < k ? Bt[(size_t)col * k + k0 + i] : half_t(0);
    }
    acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, acc);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int r = blockIdx.y * TILE + 2 * i + (threadIdx.x >> 4);
    if (r < m && col < n) C[(size_t)r * n + col] = alpha * acc[i];
  }
}

void hgemmBatched(const std::vector<half_t*>& a, const std::vector<half_t*>& b, const std::vector<float*>& c, int m, int n,
                  int k, float alpha, hipStream_t stream) {
  const int batch = (int)a.size();
  const half_t **da, **db;
  float** dc;
  HIP_CHECK(hipMalloc((void**)&da, batch * sizeof(*da)));
  HIP_CHECK(hipMalloc((void**)&db, batch * sizeof(*db)));
  HIP_CHECK(hipMalloc((void**)&dc, batch * sizeof(*dc)));
  HIP_CHECK(hipMemcpyAsync(da, a.data(), batch * sizeof(*da), hipMemcpyHostToDevice, stream));
  HIP_CHECK(hipMemcpyAsync(db, b.data(), batch * sizeof(*db), hipMemcpyHostToDevice, stream));
  HIP_CHECK(hipMemcpyAsync(dc, c.data(), batch * sizeof(*dc), hipMemcpyHostToDevice, stream));
  const dim3 grid((n + 15) / 16, (m + 15) / 16, batch), block(32);
  hgemm_batched<16><<<grid, block, 0, stream>>>(da, db, dc, m, n, k, alpha);
  HIP_CHECK(hipGetLastError());
}
