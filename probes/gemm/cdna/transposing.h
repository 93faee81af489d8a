// Operands by transposing loads (gfx950): a matrix that lies in LDS as [k][n], with n contiguous.
//
// Of a transposing load each lane names 8 bytes. Those of 16 lanes, end to end, are rows of 16 elements, and each of
// the lanes gets one column of them. So lanes name rows of k, and get what an operand wants: one n, ascending k.
#pragma once
#include "mfma_helpers.h"

typedef Vector<int, 2> Pair;
typedef Vector<short, 4> Shorts;
typedef Vector<int, 8> Wide;

// 32 x 32 matrix instructions, by the bits of an element. DEPTH counts Elements, which are bytes of two numbers for fp4.
struct TR16 : F16_32x32 {
  static constexpr int BITS = 16;
};
struct TR8 : Instruction<32, 64, unsigned char, float> {
  static constexpr int BITS = 8;
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
    return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(as<Wide>(a), as<Wide>(b), c, 0, 0, 0, 0, 0, 0);
  }
};
struct TR4 : Instruction<32, 32, unsigned char, float> {
  static constexpr int BITS = 4;
  __device__ static Sum mma(Operand a, Operand b, Sum c) {
    typedef Vector<int, 4> Quad;
    const Quad p = as<Quad>(a), q = as<Quad>(b);
    return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(__builtin_shufflevector(p, p, 0, 1, 2, 3, -1, -1, -1, -1),
                                                           __builtin_shufflevector(q, q, 0, 1, 2, 3, -1, -1, -1, -1), c,
                                                           4, 4, 0, 0, 0, 0);
  }
};

template <int Bits> __device__ inline Pair read_transposed(const char* at) {
  if constexpr (Bits == 16)
    return as<Pair>(__builtin_amdgcn_ds_read_tr16_b64_v4i16((__attribute__((address_space(3))) Shorts*)at));
  else if constexpr (Bits == 8)
    return __builtin_amdgcn_ds_read_tr8_b64_v2i32((__attribute__((address_space(3))) Pair*)at);
  else
    return __builtin_amdgcn_ds_read_tr4_b64_v2i32((__attribute__((address_space(3))) Pair*)at);
}

// Of k, both operands of these instructions have 16 bytes for the lower 32 lanes, then as many for the upper ones, and
// so on: the k of a lane's element e.
template <int Bits> __device__ inline int k_of(int e) {
  constexpr int RUN = 128 / Bits;
  return (e / RUN * 2 + lane_id() / 32) * RUN + e % RUN;
}

// Read `part` of an operand fills its registers 2 * part and 2 * part + 1: the row of k, and the byte of a line of 32
// elements, that this lane names.
template <int Bits> __device__ inline int row_named(int part) { return k_of<Bits>(part * 64 / Bits) + lane_id() % 16 / (Bits / 4); }
template <int Bits> __device__ inline int byte_named() { return lane_id() / 16 % 2 * 2 * Bits + lane_id() % (Bits / 4) * 8; }

// A lane's part of A, lines of k: its 16 bytes of every 32.
template <class I> __device__ inline typename I::Operand load_runs(const char* lines, int line_bytes, int first, int at) {
  typedef Vector<int, 4> Run;
  union { typename I::Operand all; Run each[I::OPERAND_BYTES / 16]; } operand;
  const char* line = &lines[(first + lane_id() % 32) * line_bytes + at + lane_id() / 32 * 16];
#pragma unroll
  for (int run = 0; run < I::OPERAND_BYTES / 16; ++run) operand.each[run] = *(const Run*)&line[run * 32];
  return operand.all;
}
