// The host functions that launchers call, declared only: a kernel's source may hold its launcher.
#pragma once
#include <hip/hip_vector_types.h>

typedef struct layoutprobe_stream* hipStream_t;
typedef struct layoutprobe_event* hipEvent_t;
typedef void* hipDeviceptr_t;
typedef int hipDevice_t;

enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorUnknown = 999 };
enum hipMemcpyKind {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault
};
struct hipDeviceProp_t {
  char name[256];
  char gcnArchName[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int warpSize, maxThreadsPerBlock, multiProcessorCount, clockRate, major, minor;
};

extern "C" {
__host__ hipError_t hipFree(void* memory);
__host__ hipError_t hipHostFree(void* memory);
__host__ hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
__host__ hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                   hipStream_t stream = nullptr);
__host__ hipError_t hipMemset(void* memory, int value, size_t bytes);
__host__ hipError_t hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream = nullptr);
__host__ hipError_t hipDeviceSynchronize();
__host__ hipError_t hipSetDevice(int device);
__host__ hipError_t hipGetDevice(int* device);
__host__ hipError_t hipGetDeviceCount(int* count);
__host__ hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
__host__ hipError_t hipGetLastError();
__host__ hipError_t hipPeekAtLastError();
__host__ const char* hipGetErrorString(hipError_t error);
__host__ const char* hipGetErrorName(hipError_t error);
__host__ hipError_t hipStreamCreate(hipStream_t* stream);
__host__ hipError_t hipStreamDestroy(hipStream_t stream);
__host__ hipError_t hipStreamSynchronize(hipStream_t stream);
__host__ hipError_t hipEventCreate(hipEvent_t* event);
__host__ hipError_t hipEventDestroy(hipEvent_t event);
__host__ hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
__host__ hipError_t hipEventSynchronize(hipEvent_t event);
__host__ hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);
// What kernel<<<grid, block, lds, stream>>>(...) calls.
__host__ hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds = 0,
                                               hipStream_t stream = nullptr);
__host__ hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args, size_t lds,
                                    hipStream_t stream);
}
template <typename T>
__host__ hipError_t hipMalloc(T** memory, size_t bytes);
template <typename T>
__host__ hipError_t hipHostMalloc(T** memory, size_t bytes, unsigned flags = 0);

#define hipLaunchKernelGGL(kernel, grid, block, lds, stream, ...) \
  kernel<<<(grid), (block), (lds), (stream)>>>(__VA_ARGS__)
