// GEMM with B by its rows, [K][N], without LDS: transposing loads from global memory make operands of it (gfx12).
// FORM is F16 or FP8; in waves of 32 lanes, or of 64 with WAVE64.
//
// C = A * B; A is [M][K]. Each wave computes 16 x 16; M and K are multiples of 16, N of 64, as a transposing load wants
// all lanes, and each 8 neighbours in N.
//
// grid: (N/64, M/16)  block: 4 waves
#include <hip/hip_runtime.h>

#ifdef WAVE64
constexpr int WAVE = 64;
#define OF_WAVE(name) name##_w64_gfx12
#else
constexpr int WAVE = 32;
#define OF_WAVE(name) name##_w32_gfx12
#endif
constexpr int DIM = 16, EACH = DIM * DIM / WAVE;  // elements of an operand or a sum in a lane

template <typename T, int Count> struct VectorOf { typedef T type __attribute__((ext_vector_type(Count))); };
template <typename T> struct VectorOf<T, 1> { typedef T type; };
template <typename T, int Count> using Vector = typename VectorOf<T, Count>::type;
typedef Vector<float, EACH> Sum;

template <typename T> using Global = __attribute__((address_space(1))) T;

struct F16 {
  typedef _Float16 Element;
  typedef Vector<_Float16, EACH> Operand;
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
    return OF_WAVE(__builtin_amdgcn_wmma_f32_16x16x16_f16)(a, b, c);
  }
  __device__ static Operand transposed(const Element* at) {
    typedef Vector<short, EACH> Shorts;
#ifdef WAVE64
    return __builtin_bit_cast(Operand, __builtin_amdgcn_global_load_tr_b128_v4i16((Global<Shorts>*)at));
#else
    return __builtin_bit_cast(Operand, __builtin_amdgcn_global_load_tr_b128_v8i16((Global<Shorts>*)at));
#endif
  }
};

struct FP8 {
  typedef unsigned char Element;
  typedef Vector<int, EACH / 4> Operand;
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
    return OF_WAVE(__builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8)(a, b, c);
  }
  __device__ static Operand transposed(const Element* at) {
#ifdef WAVE64
    return __builtin_amdgcn_global_load_tr_b64_i32((Global<Operand>*)at);
#else
    return __builtin_amdgcn_global_load_tr_b64_v2i32((Global<Operand>*)at);
#endif
  }
};

#ifndef FORM
#define FORM F16
#endif
typedef FORM I;
typedef I::Element Element;

// The first k of a lane: it holds EACH neighbours. A and B agree on that, so that any order of k is right.
__device__ inline int k_held(int lane) { return lane / 16 % 2 * 8 + lane / 32 * EACH; }

// What a lane names of B: of 8 lanes each a row of k, 8 columns of it. In waves of 64 the upper half names nothing.
__device__ inline int row_named(int lane) { return lane / 16 % 2 * 8 + lane % 8; }
__device__ inline int column_named(int lane) { return lane / 8 % 2 * 8; }

extern "C" __global__ void __launch_bounds__(4 * WAVE)
tr_gemm(const Element* __restrict__ A, const Element* __restrict__ B, float* __restrict__ C, int M, int N, int K)
{
  const int lane = threadIdx.x % WAVE, wave = __builtin_amdgcn_readfirstlane(threadIdx.x / WAVE);
  const int row0 = blockIdx.y * DIM, column0 = (blockIdx.x * 4 + wave) * DIM;

  Sum sum = {};
  for (int k = 0; k < K; k += DIM) {
    const I::Operand a = *(const I::Operand*)&A[(size_t)(row0 + lane % 16) * K + k + k_held(lane)];
    const I::Operand b = I::transposed(&B[(size_t)(k + row_named(lane)) * N + column0 + column_named(lane)]);
    sum = I::mma(a, b, sum);
  }
  for (int v = 0; v < EACH; ++v) {
    const int row = row0 + lane / 16 % 2 * 8 + lane / 32 * EACH + v;
    C[(size_t)row * N + column0 + lane % 16] = sum[v];
  }
}
