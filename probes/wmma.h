// The matrix instruction that the probes execute: 16x16x16, 16-bit floats to f32, in wave32. What
// differs between targets is how many registers an operand takes, since gfx11 holds A and B twice.
#pragma once
#include "lds/probe.h"

#ifndef DTYPE
#define DTYPE 0  // 0: f16, 1: bf16; the numbers are those of the probes' .toml
#endif

#if __GFX12__
constexpr int kOperandVgprs = 4;
// Rows of D from one VGPR to the next, and from lanes 0-15 to lanes 16-31.
constexpr int kVgprRows = 1, kHalfRows = 8;
#define WMMA_OF(type) __builtin_amdgcn_wmma_f32_16x16x16_##type##_w32_gfx12
#else
constexpr int kOperandVgprs = 8;
constexpr int kVgprRows = 2, kHalfRows = 1;
#define WMMA_OF(type) __builtin_amdgcn_wmma_f32_16x16x16_##type##_w32
#endif

#if DTYPE == 0
typedef half Element;
#define WMMA WMMA_OF(f16)
#elif DTYPE == 1
typedef short Element;
#define WMMA WMMA_OF(bf16)
#else
#error "a DTYPE that no probe knows"
#endif
// A lane's part of A or B: some k of one row or column.
constexpr int kFragment = 2 * kOperandVgprs;
typedef Element Fragment __attribute__((ext_vector_type(kFragment)));

// The k of its element e.
__device__ inline int k_of(int lane, int e) {
#if __GFX12__
  return e / 4 * 8 + lane / 16 * 4 + e % 4;
#else
  return e;
#endif
}
