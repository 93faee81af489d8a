// What a probe needs of HIP, without HIP's headers: the ziglang compiler carries none, and a probe
// should read the same under every clang that has the amdgcn target.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
// Fixes the workgroup size, so that no hidden argument is read and no register is spent on it.
#define __block__(threads) __attribute__((amdgpu_flat_work_group_size(threads, threads)))

typedef unsigned short u16;
typedef unsigned int u32;
typedef _Float16 half;

typedef u16 u16x4 __attribute__((ext_vector_type(4)));
typedef u16 u16x8 __attribute__((ext_vector_type(8)));
typedef u16 u16x16 __attribute__((ext_vector_type(16)));
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u32 u32x8 __attribute__((ext_vector_type(8)));
typedef half half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

#if __GFX9__
constexpr int kLanes = 64;
#else
constexpr int kLanes = 32;
#endif

__device__ inline int thread_id() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int group_x() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline int group_y() { return __builtin_amdgcn_workgroup_id_y(); }

// HIP's __syncthreads: LDS and global stores of the workgroup are visible beyond the barrier.
__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// A value of one type read as another of the same size; compiles to nothing.
template <typename To, typename From>
__device__ inline To bits(From value) {
  static_assert(sizeof(To) == sizeof(From), "bits() keeps the size");
  return __builtin_bit_cast(To, value);
}

// A value as 32-bit registers.
template <int N> struct Registers { typedef u32 type __attribute__((ext_vector_type(N))); };
template <typename T> using registers_of = typename Registers<sizeof(T) / 4>::type;

// Forces the value into VGPRs, and its later uses to read these very registers: what a probe dumps
// is then what the matrix instruction got, not a second copy that the compiler chose to reload.
template <typename T>
__device__ inline void pin(T& value) {
  auto registers = bits<registers_of<T>>(value);
  asm volatile("" : "+v"(registers));
  value = bits<T>(registers);
}

// Raw registers of one operand to out[wave][vgpr][lane].
template <typename T>
__device__ inline void dump(u32* out, int wave, int lane, T operand) {
  constexpr int kVgprs = sizeof(T) / 4;
  const auto registers = bits<registers_of<T>>(operand);
#pragma unroll
  for (int v = 0; v < kVgprs; ++v) out[(wave * kVgprs + v) * kLanes + lane] = registers[v];
}

// The inverse: a value from raw registers in[wave][vgpr][lane].
template <typename T = u32x8>
__device__ inline T undump(const u32* in, int wave, int lane) {
  constexpr int kVgprs = sizeof(T) / 4;
  registers_of<T> registers;
#pragma unroll
  for (int v = 0; v < kVgprs; ++v) registers[v] = in[(wave * kVgprs + v) * kLanes + lane];
  return bits<T>(registers);
}
