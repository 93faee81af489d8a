// The keywords of HIP, and the integer types that its headers bring along.
#pragma once

// The same tokens as in ROCm and in kernels that define these themselves: no redefinition warning. To a compiler
// of the host alone they say nothing.
#if defined(__HIP__)
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
// A keyword of newer compilers, as C++ libraries know it by its name.
#if !defined(__noinline__) && !__has_feature(cuda_noinline_keyword)
#define __noinline__ __attribute__((noinline))
#endif
#define __forceinline__ inline __attribute__((always_inline))
#define LAYOUTPROBE_MEMBER __attribute__((host, device, always_inline, nodebug))
#else
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __forceinline__ inline
#define LAYOUTPROBE_MEMBER
#endif
#ifndef __align__
#define __align__(bytes) __attribute__((aligned(bytes)))
#endif

// __launch_bounds__(threads) and __launch_bounds__(threads, waves per SIMD).
#define LAYOUTPROBE_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define LAYOUTPROBE_BOUNDS_2(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define LAYOUTPROBE_THIRD(first, second, third, ...) third
#define __launch_bounds__(...) \
  LAYOUTPROBE_THIRD(__VA_ARGS__, LAYOUTPROBE_BOUNDS_2, LAYOUTPROBE_BOUNDS_1, 0)(__VA_ARGS__)

#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(name) name
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

// For functions that both sides may call, and for those of the device alone. Without debug
// information of their own, their instructions carry the line of the user's call.
#define LAYOUTPROBE_BOTH static inline LAYOUTPROBE_MEMBER
#define LAYOUTPROBE_DEVICE static inline __attribute__((device, always_inline, nodebug))
#define LAYOUTPROBE_MISSING(why) __attribute__((device, unavailable(why)))
#define LAYOUTPROBE_UNCALLED(why) __attribute__((device, error(why)))

// As <stdint.h> and <stddef.h> have them: the compiler's own types, without a C library.
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
