// The matrix instruction that the probes execute: 16x16x16, 16-bit floats to f32, in wave32. What
// differs between targets is how many registers an operand takes, since gfx11 holds A and B twice.
#pragma once
#include "lds/probe.h"

#ifndef DTYPE
#define DTYPE 0  // 0: f16, 1: bf16; the numbers are those of the probes' .toml
#endif

#if __GFX12__
constexpr int kOperandVgprs = 4;
#define WMMA_OF(type) __builtin_amdgcn_wmma_f32_16x16x16_##type##_w32_gfx12
#else
constexpr int kOperandVgprs = 8;
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
// A lane's part of A or B.
typedef Element Fragment __attribute__((ext_vector_type(2 * kOperandVgprs)));
