// threadIdx and its kin, barriers, fences, and copies of memory.
#pragma once
#include <hip/hip_vector_types.h>

// Block and grid sizes come with the hidden kernel arguments. Source: LLVM AMDGPUUsage, "Code Object
// V5 Kernel Argument Metadata": u32 block counts at 0, 4, 8; u16 group sizes at 12, 14, 16.
LAYOUTPROBE_DEVICE unsigned layoutprobe_block_count(int axis) {
  return ((const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_implicitarg_ptr())[axis];
}
LAYOUTPROBE_DEVICE unsigned layoutprobe_block_size(int axis) {
  return ((const __attribute__((address_space(4))) unsigned short*)__builtin_amdgcn_implicitarg_ptr())[6 + axis];
}

// A property turns `threadIdx.x` into a call, so that its type is plain unsigned.
#define LAYOUTPROBE_COORDINATES(name, get_x, get_y, get_z)                             \
  struct layoutprobe_##name {                                                          \
    __declspec(property(get = at_x)) unsigned x;                                       \
    __declspec(property(get = at_y)) unsigned y;                                       \
    __declspec(property(get = at_z)) unsigned z;                                       \
    LAYOUTPROBE_DEVICE unsigned at_x() { return get_x; }                               \
    LAYOUTPROBE_DEVICE unsigned at_y() { return get_y; }                               \
    LAYOUTPROBE_DEVICE unsigned at_z() { return get_z; }                               \
    __device__ __attribute__((always_inline, nodebug)) operator dim3() const {         \
      return {at_x(), at_y(), at_z()};                                                 \
    }                                                                                  \
  };                                                                                   \
  extern const __device__ __attribute__((weak)) layoutprobe_##name name;

LAYOUTPROBE_COORDINATES(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                        __builtin_amdgcn_workitem_id_z())
LAYOUTPROBE_COORDINATES(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                        __builtin_amdgcn_workgroup_id_z())
LAYOUTPROBE_COORDINATES(blockDim, layoutprobe_block_size(0), layoutprobe_block_size(1),
                        layoutprobe_block_size(2))
LAYOUTPROBE_COORDINATES(gridDim, layoutprobe_block_count(0), layoutprobe_block_count(1),
                        layoutprobe_block_count(2))
#undef LAYOUTPROBE_COORDINATES

// These headers are for wave32 of RDNA and wave64 of CDNA: the lane functions rest on it.
#if defined(__GFX9__)
static constexpr __device__ int warpSize = 64;
#else
static constexpr __device__ int warpSize = 32;
#endif

#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)

LAYOUTPROBE_DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
LAYOUTPROBE_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
LAYOUTPROBE_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// LDS and global stores of the workgroup from before the barrier are visible beyond it.
LAYOUTPROBE_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Lanes of a wave run in step; what remains is to keep the order of memory accesses.
LAYOUTPROBE_DEVICE void __syncwarp(unsigned long long = ~0ull) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

LAYOUTPROBE_DEVICE void __trap() { __builtin_trap(); }

template <typename T>
LAYOUTPROBE_DEVICE T __ldg(const T* pointer) {
  return *pointer;
}

// Small copies of constant size become loads and stores; others become loops.
extern "C" {
__device__ inline __attribute__((always_inline, nodebug)) void* memcpy(void* to, const void* from, size_t bytes) {
  return __builtin_memcpy(to, from, bytes);
}
__device__ inline __attribute__((always_inline, nodebug)) void* memmove(void* to, const void* from, size_t bytes) {
  return __builtin_memmove(to, from, bytes);
}
__device__ inline __attribute__((always_inline, nodebug)) void* memset(void* to, int value, size_t bytes) {
  return __builtin_memset(to, value, bytes);
}
}
