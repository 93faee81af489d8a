// Flash attention (forward, causal), 16 query rows per wave.
//   hipcc --offload-arch=gfx1151 -O3 attention.hip -o attention && ./attention 4 128
#include <hip/hip_runtime.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call)                                                                   \
  do {                                                                                \
    hipError_t e_ = (call);                                                           \
    if (e_ != hipSuccess) {                                                           \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(e_));      \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

using half_t = _Float16;
using frag_t = half_t __attribute__((ext_vector_type(16)));
using acc_t = float __attribute__((ext_vector_type(8)));

constexpr int HD = 32;      // head dimension
constexpr int BR = 16;      // rows of Q per block
constexpr int BC = 16;      // keys per step
constexpr int LDK = HD + 8; // padded
constexpr int LDP = BC + 8;

// Q, K, V, O: [heads, seq, HD]
__global__ __launch_bounds__(32) void flash_fwd(const half_t* __restrict__ Q, const half_t* __restrict__ K,
                                                const half_t* __restrict__ V, half_t* __restrict__ O, int seq,
                                                float scale) {
  __shared__ half_t sK[BC * LDK];
  __shared__ half_t sV[BC * LDK];
  __shared__ half_t sP[BR * LDP];
  const int lane = threadIdx.x, l16 = lane & 15, hi = lane >> 4;
  const int q0 = blockIdx.x * BR;
  const size_t head = (size_t)blockIdx.y * seq * HD;
  Q += head, K += head, V += head, O += head;

  frag_t q[HD / 16];
  for (int d = 0; d < HD / 16; d++)
    for (int i = 0; i < 16; i++) q[d][i] = q0 + l16 < seq ? Q[(q0 + l16) * HD + d * 16 + i] : (half_t)0;

  acc_t o[HD / 16] = {};
  float m[8], l[8];
  for (int i = 0; i < 8; i++) m[i] = -INFINITY, l[i] = 0.f;

  for (int k0 = 0; k0 < q0 + BR && k0 < seq; k0 += BC) {
    __syncthreads();
    for (int e = lane; e < BC * HD; e += 32) {
      const int r = e / HD, c = e % HD;
      const bool in = k0 + r < seq;
      sK[r * LDK + c] = in ? K[(k0 + r) * HD + c] : (half_t)0;
      sV[r * LDK + c] = in ? V[(k0 + r) * HD + c] : (half_t)0;
    }
    __syncthreads();

    acc_t s = {};
    for (int d = 0; d < HD / 16; d++) {
      frag_t k;
      for (int i = 0; i < 16; i++) k[i] = sK[l16 * LDK + d * 16 + i];
      s = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(q[d], k, s);
    }

    float p[8];
    for (int i = 0; i < 8; i++) {
      const int row = q0 + 2 * i + hi, col = k0 + l16;
      float x = (col > row || col >= seq) ? -INFINITY : s[i] * scale;
      float mx = x;
      for (int off = 8; off; off >>= 1) mx = fmaxf(mx, __shfl_xor(mx, off));
      const float mnew = fmaxf(m[i], mx);
      p[i] = __expf(x - mnew);
      float sum = p[i];
      for (int off = 8; off; off >>= 1) sum += __shfl_xor(sum, off);
      const float corr = __expf(m[i] - mnew);
      l[i] = l[i] * corr + sum;
      m[i] = mnew;
      for (int d = 0; d < HD / 16; d++) o[d][i] *= corr;
    }
    for (int i = 0; i < 8; i++) sP[(2 * i + hi) * LDP + l16] = (half_t)p[i];
    __syncthreads();

    frag_t pf;
    for (int i = 0; i < 16; i++) pf[i] = sP[l16 * LDP + i];
    for (int d = 0; d < HD / 16; d++) {
      frag_t v;
      for (int i = 0; i < 16; i++) v[i] = sV[i * LDK + d * 16 + l16];
      o[d] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(pf, v, o[d]);
    }
  }
  for (int d = 0; d < HD / 16; d++)
    for (int i = 0; i < 8; i++) {
      const int row = q0 + 2 * i + hi;
      if (row < seq) O[row * HD + d * 16 + l16] = (half_t)(o[d][i] / l[i]);
    }
}

static void reference(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                      std::vector<float>& o, int heads, int seq, float scale) {
  std::vector<double> s(seq);
  for (int h = 0; h < heads; h++)
    for (int i = 0; i < seq; i++) {
      const size_t base = (size_t)h * seq * HD;
      double top = -1e30, sum = 0;
      for (int j = 0; j <= i; j++) {
        double d = 0;
        for (int c = 0; c < HD; c++) d += (double)q[base + i * HD + c] * k[base + j * HD + c];
        s[j] = d * scale;
        top = std::fmax(top, s[j]);
      }
      for (int j = 0; j <= i; j++) sum += s[j] = std::exp(s[j] - top);
      for (int c = 0; c < HD; c++) {
        double d = 0;
        for (int j = 0; j <= i; j++) d += s[j] * v[base + j * HD + c];
        o[base + i * HD + c] = d / sum;
      }
    }
}

int main(int argc, char** argv) {
  const int heads = argc > 1 ? atoi(argv[1]) : 4;
  const int seq = argc > 2 ? atoi(argv[2]) : 128;
  const float scale = 1.0f / sqrtf((float)HD);
  const size_t n = (size_t)heads * seq * HD;
  std::vector<half_t> h(3 * n), out(n);
  std::vector<float> f(3 * n), want(n);
  std::mt19937 gen(42);
  std::normal_distribution<float> dist(0.f, 1.f);
  for (size_t i = 0; i < 3 * n; i++) f[i] = h[i] = (half_t)dist(gen);
  half_t *dQ, *dK, *dV, *dO;
  CHECK(hipMalloc(&dQ, n * sizeof(half_t)));
  CHECK(hipMalloc(&dK, n * sizeof(half_t)));
  CHECK(hipMalloc(&dV, n * sizeof(half_t)));
  CHECK(hipMalloc(&dO, n * sizeof(half_t)));
  CHECK(hipMemcpy(dQ, h.data(), n * sizeof(half_t), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dK, h.data() + n, n * sizeof(half_t), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dV, h.data() + 2 * n, n * sizeof(half_t), hipMemcpyHostToDevice));
  dim3 grid((seq + BR - 1) / BR, heads);
  flash_fwd<<<grid, 32>>>(dQ, dK, dV, dO, seq, scale);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(out.data(), dO, n * sizeof(half_t), hipMemcpyDeviceToHost));
  reference({f.begin(), f.begin() + n}, {f.begin() + n, f.begin() + 2 * n}, {f.begin() + 2 * n, f.end()}, want, heads,
            seq, scale);
  double worst = 0;
  for (size_t i = 0; i < n; i++) worst = std::fmax(worst, std::fabs((double)out[i] - want[i]));
  printf("max error %g\n", worst);
  return worst < 5e-3 ? 0 : 1;
}
