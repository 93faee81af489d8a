// Tiled GEMM with matrix instructions, double-buffered LDS, and AccVGPRs by constraint.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));

extern "C" __global__ void gemm16(const _Float16* a, const _Float16* b, float* c, int n, int k) {
  __shared__ _Float16 ta[2][16][20], tb[2][16][20];
  int lane = threadIdx.x, row = blockIdx.y * 16, col = blockIdx.x * 16;
  float4v acc = {0, 0, 0, 0};
  for (int at = 0; at < k; at += 16) {
    int page = at / 16 & 1;
    for (int i = lane; i < 256; i += 64) {
      ta[page][i / 16][i % 16] = a[(row + i / 16) * k + at + i % 16];
      tb[page][i % 16][i / 16] = b[(at + i / 16) * n + col + i % 16];
    }
    __syncthreads();
    half4 x = *(half4*)&ta[page][lane % 16][lane / 16 * 4];
    half4 y = *(half4*)&tb[page][lane % 16][lane / 16 * 4];
    acc = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, acc, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) c[(row + lane / 16 * 4 + i) * n + col + lane % 16] = acc[i];
}

extern "C" __global__ void gemm32_acc(const half4* a, const half4* b, float16v* c, int k) {
  int lane = threadIdx.x;
  float16v acc = {};
  for (int at = 0; at < k; ++at) {
    half4 x = a[at * 64 + lane], y = b[at * 64 + lane];
    asm volatile("v_mfma_f32_32x32x8_f16 %0, %1, %2, %0" : "+a"(acc) : "v"(x), "v"(y));
  }
  asm volatile("s_nop 15\n\ts_nop 2" : "+a"(acc));
  c[lane] = acc;
}

extern "C" __global__ void doubles(const double* a, const double* b, double* c, int k) {
  typedef double double4v __attribute__((ext_vector_type(4)));
  double4v acc = {};
  for (int at = 0; at < k; ++at)
    acc = __builtin_amdgcn_mfma_f64_16x16x4f64(a[at * 64 + threadIdx.x], b[at * 64 + threadIdx.x], acc, 0, 0, 0);
  *(double4v*)&c[threadIdx.x * 4] = acc;
}

extern "C" __global__ void eights(const long* a, const long* b, float4v* c, float16v* d, int k) {
  float4v f = {};
  float16v g = {};
  for (int at = 0; at < k; ++at) {
    long x = a[at * 64 + threadIdx.x], y = b[at * 64 + threadIdx.x];
    f = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(x, y, f, 0, 0, 0);
    g = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(x, y, g, 0, 0, 0);
  }
  c[threadIdx.x] = f;
  d[threadIdx.x] = g;
}

extern "C" __global__ void direct(const unsigned* a, unsigned* c) {
  __shared__ unsigned tile[256];
  __builtin_amdgcn_global_load_lds((void __attribute__((address_space(1)))*)(a + threadIdx.x),
                                   (void __attribute__((address_space(3)))*)tile, 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);
  __syncthreads();
  c[threadIdx.x] = tile[threadIdx.x ^ 63];
}
