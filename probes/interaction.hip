// Interaction: raw registers in, one matrix instruction, raw registers out. One kernel per instruction.
//
// The kernels assume no layout whatever, and the assembly text leaves the compiler no choice of
// instruction. One wave is one execution, and one workgroup. Compile with -mwavefrontsize64 for
// wave64. layoutprobe/arch/matrix.py lists the same instructions; a test compares.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

typedef unsigned int u32;
#if __AMDGCN_WAVEFRONT_SIZE__ == 64 || defined(WAVE64)
constexpr int kLanes = 64;
#else
constexpr int kLanes = 32;
#endif

template <int N> struct Registers { typedef u32 type __attribute__((ext_vector_type(N))); };
template <> struct Registers<1> { typedef u32 type; };

// Registers of one operand from in[wave][vgpr][lane], and back.
template <int N>
__device__ inline typename Registers<N>::type take(const u32* in, int wave, int lane) {
  union { typename Registers<N>::type all; u32 each[N]; } value;
#pragma unroll
  for (int v = 0; v < N; ++v) value.each[v] = in[(wave * N + v) * kLanes + lane];
  return value.all;
}

template <int N>
__device__ inline void put(u32* out, int wave, int lane, typename Registers<N>::type registers) {
  union { typename Registers<N>::type all; u32 each[N]; } value = {registers};
#pragma unroll
  for (int v = 0; v < N; ++v) out[(wave * N + v) * kLanes + lane] = value.each[v];
}

#define KERNEL(name)                                                                        \
  extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(kLanes, kLanes))) name

// D holds `old` before: what the instruction leaves of it shows.
#define DENSE(name, text, modifiers, A, B, D)                                               \
  KERNEL(name)(const u32* a, const u32* b, const u32* c, const u32* old, u32* d) {          \
    const int wave = __builtin_amdgcn_workgroup_id_x(), lane = __builtin_amdgcn_workitem_id_x(); \
    const auto x = take<A>(a, wave, lane);                                                  \
    const auto y = take<B>(b, wave, lane);                                                  \
    const auto z = take<D>(c, wave, lane);                                                  \
    auto result = take<D>(old, wave, lane);                                                 \
    asm volatile(text " %0, %1, %2, %3" modifiers : "+v"(result) : "v"(x), "v"(y), "v"(z)); \
    put<D>(d, wave, lane, result);                                                          \
  }

// D is C.
#define SPARSE(name, text, modifiers, A, B, D)                                              \
  KERNEL(name)(const u32* a, const u32* b, const u32* c, const u32* index, u32* d) {        \
    const int wave = __builtin_amdgcn_workgroup_id_x(), lane = __builtin_amdgcn_workitem_id_x(); \
    const auto x = take<A>(a, wave, lane);                                                  \
    const auto y = take<B>(b, wave, lane);                                                  \
    const auto z = take<1>(index, wave, lane);                                              \
    auto result = take<D>(c, wave, lane);                                                   \
    asm volatile(text " %0, %1, %2, %3" modifiers : "+v"(result) : "v"(x), "v"(y), "v"(z)); \
    put<D>(d, wave, lane, result);                                                          \
  }

#define WMMA(types, A, B, D) DENSE(v_wmma_##types, "v_wmma_" #types, "", A, B, D)
#define WMMA_UPPER(types, A, B, D) \
  DENSE(v_wmma_##types##__opsel4, "v_wmma_" #types, " op_sel:[0,0,1]", A, B, D)
// Integers: A and B signed; sums that saturate.
#define WMMA_INTEGER(types, A, B, D)                                                     \
  WMMA(types, A, B, D)                                                                   \
  DENSE(v_wmma_##types##__neg1, "v_wmma_" #types, " neg_lo:[1,0,0]", A, B, D)            \
  DENSE(v_wmma_##types##__neg2, "v_wmma_" #types, " neg_lo:[0,1,0]", A, B, D)            \
  DENSE(v_wmma_##types##__clamp, "v_wmma_" #types, " neg_lo:[1,1,0] clamp", A, B, D)
#define SWMMAC(types, A, B, D) SPARSE(v_swmmac_##types, "v_swmmac_" #types, "", A, B, D)
#define SWMMAC_KEY(types, key, A, B, D) \
  SPARSE(v_swmmac_##types##__opsel##key, "v_swmmac_" #types, " index_key:" #key, A, B, D)

#if __GFX11__
constexpr int kD = 256 / kLanes;
WMMA(f32_16x16x16_f16, 8, 8, kD)
WMMA(f32_16x16x16_bf16, 8, 8, kD)
WMMA(f16_16x16x16_f16, 8, 8, kD)
WMMA_UPPER(f16_16x16x16_f16, 8, 8, kD)
WMMA(bf16_16x16x16_bf16, 8, 8, kD)
WMMA_UPPER(bf16_16x16x16_bf16, 8, 8, kD)
WMMA_INTEGER(i32_16x16x16_iu8, 4, 4, kD)
WMMA_INTEGER(i32_16x16x16_iu4, 2, 2, kD)
#elif __GFX12__
// Registers of 256 elements of a type, of which iu4 fills half a wave64.
constexpr int kD = 256 / kLanes, k16 = 128 / kLanes, k8 = 64 / kLanes;
WMMA(f32_16x16x16_f16, k16, k16, kD)
WMMA(f32_16x16x16_bf16, k16, k16, kD)
WMMA(f16_16x16x16_f16, k16, k16, k16)
WMMA(bf16_16x16x16_bf16, k16, k16, k16)
WMMA_INTEGER(i32_16x16x16_iu8, k8, k8, kD)
WMMA_INTEGER(i32_16x16x16_iu4, 1, 1, kD)
WMMA(f32_16x16x16_fp8_fp8, k8, k8, kD)
WMMA(f32_16x16x16_fp8_bf8, k8, k8, kD)
WMMA(f32_16x16x16_bf8_fp8, k8, k8, kD)
WMMA(f32_16x16x16_bf8_bf8, k8, k8, kD)
WMMA_INTEGER(i32_16x16x32_iu4, k8, k8, kD)

// Index keys: as many sets as fit into the index register.
#define SWMMAC_2(types, A, B, D) SWMMAC(types, A, B, D) SWMMAC_KEY(types, 1, A, B, D)
#define SWMMAC_4(types, A, B, D) \
  SWMMAC_2(types, A, B, D) SWMMAC_KEY(types, 2, A, B, D) SWMMAC_KEY(types, 3, A, B, D)
#ifdef WAVE64
#define SWMMAC_WIDE SWMMAC_4
#define SWMMAC_LONG SWMMAC_2
#else
#define SWMMAC_WIDE SWMMAC_2
#define SWMMAC_LONG SWMMAC
#endif
SWMMAC_WIDE(f32_16x16x32_f16, k16, 2 * k16, kD)
SWMMAC_WIDE(f32_16x16x32_bf16, k16, 2 * k16, kD)
SWMMAC_WIDE(f16_16x16x32_f16, k16, 2 * k16, k16)
SWMMAC_WIDE(bf16_16x16x32_bf16, k16, 2 * k16, k16)
SWMMAC_WIDE(i32_16x16x32_iu8, k8, 2 * k8, kD)
SWMMAC_2(i32_16x16x32_iu4, 1, k8, kD)
SWMMAC_LONG(i32_16x16x64_iu4, k8, 2 * k8, kD)
SWMMAC_WIDE(f32_16x16x32_fp8_fp8, k8, 2 * k8, kD)
SWMMAC_WIDE(f32_16x16x32_fp8_bf8, k8, 2 * k8, kD)
SWMMAC_WIDE(f32_16x16x32_bf8_fp8, k8, 2 * k8, kD)
SWMMAC_WIDE(f32_16x16x32_bf8_bf8, k8, 2 * k8, kD)
#elif __gfx942__ || __gfx950__
// Nothing but the code keeps an MFMA from operands that are not there yet, and readers from a D that is not.
#define SPACED(text) "s_nop 1\n\t" text
#define SETTLED "\n\ts_nop 15\n\ts_nop 7"
#define MFMA(types, A, B, D) DENSE(v_mfma_##types, SPACED("v_mfma_" #types), SETTLED, A, B, D)
#define SMFMAC(types, set, kernel, A, B, D) \
  SPARSE(v_smfmac_##types##kernel, SPACED("v_smfmac_" #types), " abid:" #set SETTLED, A, B, D)
#define SMFMAC_1(types, A, B, D) SMFMAC(types, 0, , A, B, D)
#define SMFMAC_2(types, A, B, D) SMFMAC_1(types, A, B, D) SMFMAC(types, 1, __opsel1, A, B, D)
#define SMFMAC_4(types, A, B, D) \
  SMFMAC_2(types, A, B, D) SMFMAC(types, 2, __opsel2, A, B, D) SMFMAC(types, 3, __opsel3, A, B, D)
// Both shapes of an instruction: D of 16x16 and of 32x32 fills 4 and 16 registers.
#define BOTH(of, small, large, types, A, B) of(small##_##types, A, B, 4) of(large##_##types, A, B, 16)
#define MIXES(of, small, large, A, B)                                               \
  BOTH(of, small, large, bf8_bf8, A, B) BOTH(of, small, large, bf8_fp8, A, B)       \
  BOTH(of, small, large, fp8_bf8, A, B) BOTH(of, small, large, fp8_fp8, A, B)

MFMA(f32_32x32x1_2b_f32, 1, 1, 32)
MFMA(f32_16x16x1_4b_f32, 1, 1, 16)
MFMA(f32_4x4x1_16b_f32, 1, 1, 4)
BOTH(MFMA, f32_16x16x4, f32_32x32x2, f32, 1, 1)
#define HALVES(type)              \
  MFMA(f32_32x32x4_2b_##type, 2, 2, 32) \
  MFMA(f32_16x16x4_4b_##type, 2, 2, 16) \
  MFMA(f32_4x4x4_16b_##type, 2, 2, 4)   \
  BOTH(MFMA, f32_16x16x16, f32_32x32x8, type, 2, 2)
HALVES(f16)
HALVES(bf16)
MFMA(i32_32x32x4_2b_i8, 1, 1, 32)
MFMA(i32_16x16x4_4b_i8, 1, 1, 16)
MFMA(i32_4x4x4_16b_i8, 1, 1, 4)
BOTH(MFMA, i32_16x16x32, i32_32x32x16, i8, 2, 2)
MFMA(f64_16x16x4_f64, 2, 2, 8)
MFMA(f64_4x4x4_4b_f64, 2, 2, 2)
MIXES(MFMA, f32_16x16x32, f32_32x32x16, 2, 2)
BOTH(SMFMAC_4, f32_16x16x32, f32_32x32x16, f16, 2, 4)
BOTH(SMFMAC_4, f32_16x16x32, f32_32x32x16, bf16, 2, 4)
BOTH(SMFMAC_2, i32_16x16x64, i32_32x32x32, i8, 2, 4)
MIXES(SMFMAC_2, f32_16x16x64, f32_32x32x32, 2, 4)
#if __gfx942__
BOTH(MFMA, f32_16x16x8, f32_32x32x4, xf32, 2, 2)
#else
BOTH(MFMA, f32_16x16x32, f32_32x32x16, f16, 4, 4)
BOTH(MFMA, f32_16x16x32, f32_32x32x16, bf16, 4, 4)
BOTH(MFMA, i32_16x16x64, i32_32x32x32, i8, 4, 4)
BOTH(SMFMAC_2, f32_16x16x64, f32_32x32x32, f16, 4, 8)
BOTH(SMFMAC_2, f32_16x16x64, f32_32x32x32, bf16, 4, 8)
BOTH(SMFMAC_1, i32_16x16x128, i32_32x32x64, i8, 4, 8)
MIXES(SMFMAC_1, f32_16x16x128, f32_32x32x64, 4, 8)

// Formats of A and B are modifiers. With scales: two registers more, whose lowest bytes count.
#define SCALED(name, text, modifiers, A, B, D)                                                       \
  KERNEL(name)(const u32* a, const u32* b, const u32* c, const u32* old, const u32* scale_a,        \
               const u32* scale_b, u32* d) {                                                        \
    const int wave = __builtin_amdgcn_workgroup_id_x(), lane = __builtin_amdgcn_workitem_id_x();    \
    const auto x = take<A>(a, wave, lane);                                                          \
    const auto y = take<B>(b, wave, lane);                                                          \
    const auto z = take<D>(c, wave, lane);                                                          \
    const auto of_x = take<1>(scale_a, wave, lane);                                                 \
    const auto of_y = take<1>(scale_b, wave, lane);                                                 \
    auto result = take<D>(old, wave, lane);                                                         \
    asm volatile(text " %0, %1, %2, %3, %4, %5" modifiers                                           \
                 : "+v"(result) : "v"(x), "v"(y), "v"(z), "v"(of_x), "v"(of_y));                    \
    put<D>(d, wave, lane, result);                                                                  \
  }
#define FORMATS(shape, a, b, A, B, D)                                                                \
  DENSE(v_mfma_f32_##shape##_f8f6f4__cbsz##a##_blgp##b, SPACED("v_mfma_f32_" #shape "_f8f6f4"),      \
        " cbsz:" #a " blgp:" #b SETTLED, A, B, D)                                                    \
  SCALED(v_mfma_scale_f32_##shape##_f8f6f4__cbsz##a##_blgp##b,                                       \
         SPACED("v_mfma_scale_f32_" #shape "_f8f6f4"), " op_sel_hi:[0,0,0] cbsz:" #a " blgp:" #b SETTLED, A, B, D)
#define FORMATS_OF_B(shape, a, A, D)                                                                 \
  FORMATS(shape, a, 0, A, 8, D) FORMATS(shape, a, 1, A, 8, D) FORMATS(shape, a, 2, A, 6, D)          \
  FORMATS(shape, a, 3, A, 6, D) FORMATS(shape, a, 4, A, 4, D)
#define ALL_FORMATS(shape, D)                                                                        \
  FORMATS_OF_B(shape, 0, 8, D) FORMATS_OF_B(shape, 1, 8, D) FORMATS_OF_B(shape, 2, 6, D)             \
  FORMATS_OF_B(shape, 3, 6, D) FORMATS_OF_B(shape, 4, 4, D)
ALL_FORMATS(16x16x128, 4)
ALL_FORMATS(32x32x64, 16)
#endif
#else
#error "no matrix instruction is known for this target"
#endif
