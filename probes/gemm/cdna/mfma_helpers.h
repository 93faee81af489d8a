// What the GEMM kernels in cdna/ share: matrix instructions by type, operands from LDS, epilogue.
//
// All kernels compute C = alpha * A * B + beta * C of any size from 1. A is [M][K], row-major; B is given as its
// columns, [N][K], so that k is contiguous in both; C is [M][N], row-major. Buffers are aligned to 16 bytes, and no
// matrix has 2^31 bytes or more. With beta = 0, C is not read, as in BLAS: it may hold anything. Integers have no beta.
#pragma once
#include <hip/hip_runtime.h>

template <typename T, int Count> struct VectorOf { typedef T type __attribute__((ext_vector_type(Count))); };
template <typename T, int Count> using Vector = typename VectorOf<T, Count>::type;

constexpr int WAVE = 64;
constexpr int CHUNK_BYTES = 16;  // that a lane moves at once
constexpr int ROW_BYTES = 64;    // of k, in a tile in LDS: one K step

__device__ inline int lane_id() { return threadIdx.x % WAVE; }

// The same for all lanes of a wave, and said to be so: what follows from it stays in scalar registers.
__device__ inline int wave_id() { return __builtin_amdgcn_readfirstlane(threadIdx.x / WAVE); }

template <typename To, typename From> __device__ inline To as(From value) {
  static_assert(sizeof(To) == sizeof(From), "as() keeps the size");
  return __builtin_bit_cast(To, value);
}

// Matrix instructions. Each has its size DIM x DIM x DEPTH, its types, and RUN, the rows of D that lie side by side
// along the VGPRs. Operand is a lane's DEPTH / GROUPS elements of A or B, contiguous in k. CDNA4 has some with
// twice the depth.
template <int Dim, int Depth, typename E, typename R> struct Instruction {
  static constexpr int DIM = Dim, DEPTH = Depth, GROUPS = WAVE / Dim, RUN = sizeof(R) == 8 ? 1 : 4;
  static constexpr bool INTEGER = R(0.5) == 0;
  typedef E Element;
  typedef R Result;
  typedef Vector<R, Dim * Dim / WAVE> Sum;
  static constexpr int OPERAND_BYTES = Depth / GROUPS * (int)sizeof(E);
  typedef char Operand __attribute__((ext_vector_type(OPERAND_BYTES)));
};

#if __gfx950__
constexpr int DEEPER = 2;
#else
constexpr int DEEPER = 1;
#endif

struct F16_32x32 : Instruction<32, 8 * DEEPER, _Float16, float> {
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
#if __gfx950__
    typedef Vector<_Float16, 8> V;
    return __builtin_amdgcn_mfma_f32_32x32x16_f16(as<V>(a), as<V>(b), c, 0, 0, 0);
#else
    typedef Vector<_Float16, 4> V;
    return __builtin_amdgcn_mfma_f32_32x32x8f16(as<V>(a), as<V>(b), c, 0, 0, 0);
#endif
  }
};

struct F16_16x16 : Instruction<16, 16 * DEEPER, _Float16, float> {
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
#if __gfx950__
    typedef Vector<_Float16, 8> V;
    return __builtin_amdgcn_mfma_f32_16x16x32_f16(as<V>(a), as<V>(b), c, 0, 0, 0);
#else
    typedef Vector<_Float16, 4> V;
    return __builtin_amdgcn_mfma_f32_16x16x16f16(as<V>(a), as<V>(b), c, 0, 0, 0);
#endif
  }
};

struct BF16_32x32 : Instruction<32, 8 * DEEPER, __bf16, float> {
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
#if __gfx950__
    typedef Vector<__bf16, 8> V;
    return __builtin_amdgcn_mfma_f32_32x32x16_bf16(as<V>(a), as<V>(b), c, 0, 0, 0);
#else
    typedef Vector<short, 4> V;
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(as<V>(a), as<V>(b), c, 0, 0, 0);
#endif
  }
};

struct BF16_16x16 : Instruction<16, 16 * DEEPER, __bf16, float> {
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
#if __gfx950__
    typedef Vector<__bf16, 8> V;
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(as<V>(a), as<V>(b), c, 0, 0, 0);
#else
    typedef Vector<short, 4> V;
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(as<V>(a), as<V>(b), c, 0, 0, 0);
#endif
  }
};

// FNUZ on gfx942, OCP on gfx950: the same mnemonic.
struct FP8_32x32 : Instruction<32, 16, unsigned char, float> {
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(as<long>(a), as<long>(b), c, 0, 0, 0);
  }
};

struct I8_32x32 : Instruction<32, 16 * DEEPER, signed char, int> {
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
#if __gfx950__
    typedef Vector<int, 4> V;
    return __builtin_amdgcn_mfma_i32_32x32x32_i8(as<V>(a), as<V>(b), c, 0, 0, 0);
#else
    return __builtin_amdgcn_mfma_i32_32x32x16_i8(as<long>(a), as<long>(b), c, 0, 0, 0);
#endif
  }
};

struct F64_16x16 : Instruction<16, 4, double, double> {
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
    return __builtin_amdgcn_mfma_f64_16x16x4f64(as<double>(a), as<double>(b), c, 0, 0, 0);
  }
};

// What 16 bytes hold of a line, from element `at` on, with zeros for those that do not exist.
template <typename Element>
__device__ inline Vector<Element, CHUNK_BYTES / (int)sizeof(Element)> load_chunk(const Element* lines, int count,
                                                                                 int depth, int line, int at) {
  constexpr int PER_CHUNK = CHUNK_BYTES / (int)sizeof(Element);
  typedef Vector<Element, PER_CHUNK> Chunk;
  Chunk values = {};
  if (depth % PER_CHUNK == 0) {  // lines are aligned, and a chunk exists as a whole or not at all
    if (line < count && at < depth) values = *(const Chunk*)&lines[(size_t)line * depth + at];
    return values;
  }
#pragma unroll
  for (int i = 0; i < PER_CHUNK; ++i)
    if (line < count && at + i < depth) values[i] = lines[(size_t)line * depth + at + i];
  return values;
}

// A lane's part of A, or of B by its columns: line lane % DIM of those at `lines`, and its group's k.
template <class I>
__device__ inline typename I::Operand load_operand(const char* lines, int line_bytes, int first, int k) {
  const int line = first + lane_id() % I::DIM, group = lane_id() / I::DIM;
  return *(const typename I::Operand*)&lines[line * line_bytes + k * (int)sizeof(typename I::Element) +
                                             group * I::OPERAND_BYTES];
}

// Row of D in slot v of a lane: runs of RUN rows along the slots, dealt to the groups of lanes.
template <class I> __device__ inline int row_of(int v) {
  return I::RUN * (I::GROUPS * (v / I::RUN) + lane_id() / I::DIM) + v % I::RUN;
}

// Where C begins, how large it is, and how a product enters it.
template <typename R> struct Output {
  R* C;
  int M, N;
  R alpha, beta;
};

// One wave's tiles to C, the first of them at (row0, col0).
template <class I, int TilesM, int TilesN>
__device__ inline void epilogue(const Output<typename I::Result>& out, typename I::Sum (&sums)[TilesM][TilesN],
                                int row0, int col0) {
  const int lane_col = lane_id() % I::DIM;
#pragma unroll
  for (int i = 0; i < TilesM; ++i)
#pragma unroll
    for (int j = 0; j < TilesN; ++j)
#pragma unroll
      for (int v = 0; v < I::DIM * I::DIM / WAVE; ++v) {
        const int row = row0 + i * I::DIM + row_of<I>(v), col = col0 + j * I::DIM + lane_col;
        if (row < out.M && col < out.N) {
          typename I::Result* c = &out.C[(size_t)row * out.N + col];
          const typename I::Result product = out.alpha * sums[i][j][v];
          if constexpr (I::INTEGER)
            *c = product;  // integers are not added to
          else
            *c = out.beta == 0 ? product : product + out.beta * *c;
        }
      }
}
