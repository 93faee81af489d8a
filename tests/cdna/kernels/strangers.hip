// Kernels as strangers write them for CDNA: reductions with DPP, quantisation, integer dot products, atomics of all
// kinds, votes, permutations, arrays in registers and in scratch, integers of 64 bits, doubles, buffers, assembly.
#include <hip/hip_runtime.h>

template <int control> __device__ __forceinline__ float dpp_add(float x) {
  return x + __int_as_float(__builtin_amdgcn_update_dpp(0, __float_as_int(x), control, 0xf, 0xf, true));
}

extern "C" __global__ void reduce(const float* x, float* out, int n) {
  __shared__ float part[4];
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[blockIdx.x * n + i];
  s = dpp_add<0x111>(s);
  s = dpp_add<0x112>(s);
  s = dpp_add<0x114>(s);
  s = dpp_add<0x118>(s);
  s = dpp_add<0x142>(s);
  s = dpp_add<0x143>(s);
  if (threadIdx.x % 64 == 63) part[threadIdx.x / 64] = s;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}

extern "C" __global__ void softmax(const float* x, float* y, int n) {
  float m = -INFINITY, d = 0;
  const float* row = x + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += 64) {
    const float v = row[i], more = fmaxf(m, v);
    d = d * expf(m - more) + expf(v - more);
    m = more;
  }
  for (int o = 32; o; o >>= 1) {
    const float om = __shfl_xor(m, o), od = __shfl_xor(d, o), more = fmaxf(m, om);
    d = d * expf(m - more) + od * expf(om - more);
    m = more;
  }
  for (int i = threadIdx.x; i < n; i += 64) y[blockIdx.x * n + i] = expf(row[i] - m) / d;
}

extern "C" __global__ void quantise_i8(const float* x, signed char* q, float* scale, int n) {
  const float* row = x + blockIdx.x * n;
  float m = 0;
  for (int i = threadIdx.x; i < n; i += 64) m = fmaxf(m, fabsf(row[i]));
  for (int o = 32; o; o >>= 1) m = fmaxf(m, __shfl_xor(m, o));
  const float s = m / 127.f;
  if (threadIdx.x == 0) scale[blockIdx.x] = s;
  for (int i = threadIdx.x; i < n; i += 64) q[blockIdx.x * n + i] = max(-128, min(127, (int)rintf(row[i] / s)));
}

extern "C" __global__ void quantise_fp8(const float* x, unsigned* q, float s) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const float* p = x + 4 * t;
  const int low = __builtin_amdgcn_cvt_pk_fp8_f32(p[0] * s, p[1] * s, 0, false);
  q[t] = __builtin_amdgcn_cvt_pk_fp8_f32(p[2] * s, p[3] * s, low, true);
}

extern "C" __global__ void quantise_randomly(const float* x, const unsigned* random, unsigned* q) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  q[t] = __builtin_amdgcn_cvt_sr_fp8_f32(x[t], random[t], __builtin_amdgcn_cvt_sr_bf8_f32(x[t], random[t], 7, 3), 1);
}

typedef short s2 __attribute__((ext_vector_type(2)));
typedef unsigned short u2 __attribute__((ext_vector_type(2)));
extern "C" __global__ void dots(const int* a, const int* b, int* o, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const int x = a[t], y = b[t], c = x >> 3;
  union Halves { int i; s2 s; u2 u; } p = {x}, q = {y};
  o[t] = __builtin_amdgcn_sdot4(x, y, c, false);
  o[n + t] = __builtin_amdgcn_sdot8(x, y, c, false);
  o[2 * n + t] = __builtin_amdgcn_sdot2(p.s, q.s, c, false);
  o[3 * n + t] = __builtin_amdgcn_sdot4(x, y, c, true);
  o[4 * n + t] = __builtin_amdgcn_udot4(x, y, c, false);
  o[5 * n + t] = __builtin_amdgcn_udot8(x, y, c, false);
  o[6 * n + t] = __builtin_amdgcn_udot2(p.u, q.u, c, false);
}

typedef _Float16 h2 __attribute__((ext_vector_type(2)));
extern "C" __global__ void atomics(float* f, double* d, unsigned* u, unsigned long long* l, h2* h, int* extremes,
                                   unsigned* cas) {
  __shared__ float lf;
  __shared__ unsigned lu;
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsafeAtomicAdd(f + t % 7, (float)(t % 5));
  unsafeAtomicAdd(d + t % 3, (double)(t % 9));
  atomicAdd(u + t % 4, t);
  atomicAdd(l + t % 2, (unsigned long long)t << 33);
  const h2 ones = {(_Float16)(t & 1), (_Float16)1};
  __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) h2*)(h + t % 2), ones);
  atomicMax(extremes, t * 37 % 101);
  atomicMin(extremes + 1, -(t * 37 % 101));
  unsigned old = *cas, seen;
  do {
    seen = old;
    old = atomicCAS(cas, seen, seen + 3);
  } while (old != seen);
  if (threadIdx.x == 0) lf = 0, lu = 0;
  __syncthreads();
  atomicAdd(&lf, 1.f);
  atomicOr(&lu, 1u << (t & 31));
  atomicInc(u + 4, 10);
  atomicDec(u + 5, 6);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(f + 7, lf), u[6 + blockIdx.x] = lu;
}

extern "C" __global__ void votes(const int* x, unsigned long long* mask, int* rank, int* facts) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 63;
  const bool p = x[t] > 0;
  const unsigned long long m = __ballot(p);
  if (lane == 0) mask[t / 64] = m;
  rank[t] = p ? __popcll(m & ((1ull << lane) - 1)) : -1;
  facts[t] = (__any(x[t] == 3) ? 1 : 0) | (__all(x[t] > -100) ? 2 : 0) | __ffsll(m) << 2 | __clzll(m) << 9;
}

extern "C" __global__ void permutations(const int* x, const int* from, int* a, int* b, int* c) {
  const int t = threadIdx.x;
  a[t] = __builtin_amdgcn_ds_bpermute(from[t] * 4, x[t]);
  b[t] = __builtin_amdgcn_ds_permute((t * 5 % 64) * 4, x[t]);
  c[t] = __builtin_amdgcn_ds_swizzle(x[t], 0x041f) + __builtin_amdgcn_readlane(x[t], 17) +
         __builtin_amdgcn_mov_dpp(x[t], 0x1b, 0xf, 0xf, true);
}

extern "C" __global__ void spills(const int* x, int* y, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  int a[64], sum = 0;
  for (int i = 0; i < 64; i++) a[i] = x[(t + i * 7) % n];
  for (int r = 0; r < 3; r++)
    for (int i = 0; i < 64; i++) {
      const int j = a[i] & 63, s = a[i];
      a[i] = a[j] + i;
      a[j] = s ^ r;
    }
  for (int i = 0; i < 64; i++) sum = sum * 31 + a[i];
  y[t] = sum;
}

extern "C" __global__ void wide(const long long* a, const long long* b, long long* o, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const long long x = a[t], y = b[t];
  const unsigned long long ux = x, uy = y;
  o[t] = x * y;
  o[n + t] = x / y;
  o[2 * n + t] = x % y;
  o[3 * n + t] = ux / uy;
  o[4 * n + t] = __mul64hi(x, y);
  o[5 * n + t] = __umul64hi(ux, uy);
  o[6 * n + t] = (x << (y & 63)) ^ (x >> (y & 31)) ^ (ux >> (y & 63));
  o[7 * n + t] = x < y ? x : (ux > uy ? -y : y);
  o[8 * n + t] = __clzll(x) - __popcll(x);
}

extern "C" __global__ void doubles(const double* a, const double* b, double* o, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  const double x = a[t], y = b[t];
  o[t] = x / y;
  o[n + t] = sqrt(fabs(x));
  o[2 * n + t] = fma(x, y, -(x * y));
  o[3 * n + t] = floor(x) + ceil(y) + rint(x) + trunc(y);
  o[4 * n + t] = fmin(x, y) - fmax(x, y);
  o[5 * n + t] = (double)(int)x + (double)(unsigned)(long long)fabs(y) + (double)(float)x;
}

typedef int i4 __attribute__((ext_vector_type(4)));
extern "C" __global__ void buffers(const float* x, float* y, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void*)x, 0, n * 4, 0x27000);
  __amdgpu_buffer_rsrc_t w = __builtin_amdgcn_make_buffer_rsrc(y, 0, n * 4, 0x27000);
  i4 v = __builtin_amdgcn_raw_buffer_load_b128(r, t * 16, 0, 0);
  v += (int)__builtin_amdgcn_raw_buffer_load_b32(r, t * 4, 16, 0);
  v += (short)__builtin_amdgcn_raw_buffer_load_b16(r, t * 2, 0, 0);
  v += (signed char)__builtin_amdgcn_raw_buffer_load_b8(r, t, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b128(v, w, t * 16, 0, 0);
}

extern "C" __global__ void assembly(const unsigned* x, unsigned* y) {
  const int t = threadIdx.x;
  const unsigned v = x[t];
  unsigned a, b, c, d;
  asm volatile("v_perm_b32 %0, %1, %2, %3" : "=v"(a) : "v"(v), "v"(v * 7), "s"(0x01060304));
  asm volatile("v_alignbit_b32 %0, %1, %1, 8\n v_bfe_u32 %0, %0, 3, 11" : "=&v"(b) : "v"(v));
  asm volatile("s_nop 1\n v_add_u32_dpp %0, %1, %1 row_ror:3 row_mask:0xf bank_mask:0xf" : "=v"(c) : "v"(v));
  asm volatile("v_add_u32_sdwa %0, %1, %1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1"
               : "=v"(d) : "v"(v));
  y[t] = a;
  y[64 + t] = b;
  y[128 + t] = c;
  y[192 + t] = d;
}
