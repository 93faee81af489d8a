#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <string>
#include <stdexcept>
#include <fstream>
typedef _Float16 v16h __attribute__((ext_vector_type(16)));
typedef _Float16 v8h __attribute__((ext_vector_type(8)));
typedef float v8f __attribute__((ext_vector_type(8)));

extern __shared__ char smem[];
extern "C" __global__ void __launch_bounds__(256) hgemm_double_buffer(const v8h* __restrict__ pA, const v8h* __restrict__ pB, float* __restrict__ pC, unsigned M, unsigned N, unsigned K) {
  // 64x64 tile, 8 waves; pB is stored [N][K]
  _Float16* buf = reinterpret_cast<_Float16*>(smem);
  const unsigned t = threadIdx.x, w = t >> 5, l = t & 31;
  const unsigned m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  auto fetch = [&](unsigned k, int which) {
    if (t < 128) {
      const unsigned r = t >> 1, h = t & 1;
      v8h va = pA[((m0 + r) * K + k) / 8 + h], vb = pB[((n0 + r) * K + k) / 8 + h];
      *reinterpret_cast<v8h*>(buf + which * 2048 + r * 16 + ((h ^ ((r >> 2) & 1)) * 8)) = va;
      *reinterpret_cast<v8h*>(buf + which * 2048 + 1024 + r * 16 + ((h ^ ((r >> 2) & 1)) * 8)) = vb;
    }
  };
  v8f acc[2] = {};
  fetch(0, 0);
  __syncthreads();
  int cur = 0;
  for (unsigned k = 0; k < K; k += 16) {
    if (k + 16 < K) fetch(k + 16, cur ^ 1);
    const unsigned ra = (w & 3) * 16 + (l & 15);
    union { v16h v; v8h h[2]; } a, b;
    for (int h = 0; h < 2; ++h) a.h[h] = *reinterpret_cast<v8h*>(buf + cur * 2048 + ra * 16 + ((h ^ ((ra >> 2) & 1)) * 8));
    for (int j = 0; j < 2; ++j) {
      const unsigned rb = ((w >> 2) * 2 + j) * 16 + (l & 15);
      for (int h = 0; h < 2; ++h) b.h[h] = *reinterpret_cast<v8h*>(buf + cur * 2048 + 1024 + rb * 16 + ((h ^ ((rb >> 2) & 1)) * 8));
      acc[j] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a.v, b.v, acc[j]);
    }
    __syncthreads();
    cur ^= 1;
  }
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 8; ++i)
      pC[(m0 + (w & 3) * 16 + 2 * i + (l >> 4)) * N + n0 + ((w >> 2) * 2 + j) * 16 + (l & 15)] = acc[j][i];
}
struct Module {
  hipModule_t module; hipFunction_t function;
  explicit Module(const std::string& path) {
    if (hipModuleLoad(&module, path.c_str()) != hipSuccess) throw std::runtime_error("cannot load " + path);
    hipModuleGetFunction(&function, module, "hgemm_double_buffer");
  }
  void operator()(void* a, void* b, void* c, unsigned M, unsigned N, unsigned K) {
    void* args[] = {&a, &b, &c, &M, &N, &K};
    hipModuleLaunchKernel(function, N / 64, M / 64, 1, 256, 1, 1, 8192, 0, args, nullptr);
  }
};
