// What only gfx950 has: f8f6f4 with and without scales, wider K, transposing reads, wide loads to LDS.
#include <hip/hip_runtime.h>

typedef int int8v __attribute__((ext_vector_type(8)));
typedef int int2v __attribute__((ext_vector_type(2)));
typedef short short4v __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));

extern "C" __global__ void scaled(const int8v* a, const int8v* b, const int* s, float4v* c, float16v* d) {
  int8v x = a[threadIdx.x], y = b[threadIdx.x];
  float4v f = {};
  float16v g = {};
  f = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(x, y, f, 0, 0, 0, s[threadIdx.x], 1, s[threadIdx.x + 64]);
  f = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(x, y, f, 4, 2, 3, s[threadIdx.x], 2, s[threadIdx.x + 64]);
  f = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(x, y, f, 0, 1, 0, 0, 0, 0);
  g = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(x, y, g, 2, 4, 0, 0, 0, 0);
  g = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(x, y, g, 0, 0, 1, s[threadIdx.x], 0, s[threadIdx.x]);
  c[threadIdx.x] = f;
  d[threadIdx.x] = g;
}

extern "C" __global__ void wider(const half8* a, const half8* b, float4v* c, int k) {
  float4v f = {};
  for (int at = 0; at < k; ++at)
    f = __builtin_amdgcn_mfma_f32_16x16x32_f16(a[at * 64 + threadIdx.x], b[at * 64 + threadIdx.x], f, 0, 0, 0);
  c[threadIdx.x] = f;
}

extern "C" __global__ void transposed(const unsigned* a, int2v* c, short4v* d) {
  __shared__ unsigned tile[1024];
  for (int i = 0; i < 16; ++i) tile[threadIdx.x + 64 * i] = a[threadIdx.x + 64 * i];
  __syncthreads();
  c[threadIdx.x] = __builtin_amdgcn_ds_read_tr8_b64_v2i32(
      (__attribute__((address_space(3))) int2v*)&tile[2 * threadIdx.x]);
  d[threadIdx.x] = __builtin_amdgcn_ds_read_tr16_b64_v4i16(
      (__attribute__((address_space(3))) short4v*)&tile[2 * threadIdx.x]);
}

extern "C" __global__ void direct(const unsigned* a, unsigned* c) {
  __shared__ unsigned tile[256];
  __builtin_amdgcn_global_load_lds((void __attribute__((address_space(1)))*)(a + 4 * threadIdx.x),
                                   (void __attribute__((address_space(3)))*)tile, 16, 0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);
  __syncthreads();
  c[threadIdx.x] = tile[threadIdx.x ^ 63];
}
