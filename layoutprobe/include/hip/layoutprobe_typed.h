// Host functions by type: pointers of any type where C has void pointers, kernels and variables by their names.
#pragma once
#include <hip/layoutprobe_host_types.h>

template <typename T>
__host__ hipError_t hipMalloc(T** memory, size_t bytes) {
  return hipMalloc((void**)memory, bytes);
}
template <typename T>
__host__ hipError_t hipExtMallocWithFlags(T** memory, size_t bytes, unsigned flags) {
  return hipExtMallocWithFlags((void**)memory, bytes, flags);
}
template <typename T>
__host__ hipError_t hipMallocAsync(T** memory, size_t bytes, hipStream_t stream) {
  return hipMallocAsync((void**)memory, bytes, stream);
}
template <typename T>
__host__ hipError_t hipMallocPitch(T** memory, size_t* pitch, size_t width, size_t height) {
  return hipMallocPitch((void**)memory, pitch, width, height);
}
template <typename T>
__host__ hipError_t hipMallocManaged(T** memory, size_t bytes, unsigned flags = hipMemAttachGlobal) {
  return hipMallocManaged((void**)memory, bytes, flags);
}
template <typename T>
__host__ hipError_t hipHostMalloc(T** memory, size_t bytes, unsigned flags = hipHostMallocDefault) {
  return hipHostMalloc((void**)memory, bytes, flags);
}
template <typename T>
__host__ hipError_t hipHostAlloc(T** memory, size_t bytes, unsigned flags = hipHostAllocDefault) {
  return hipHostAlloc((void**)memory, bytes, flags);
}
template <typename T>
__host__ hipError_t hipMallocHost(T** memory, size_t bytes) {
  return hipMallocHost((void**)memory, bytes);
}
template <typename T>
__host__ hipError_t hipHostGetDevicePointer(T** device, void* host, unsigned flags = 0) {
  return hipHostGetDevicePointer((void**)device, host, flags);
}

template <typename T>
__host__ hipError_t hipGetSymbolAddress(void** memory, const T& symbol) {
  return hipGetSymbolAddress(memory, (const void*)&symbol);
}
template <typename T>
__host__ hipError_t hipGetSymbolSize(size_t* bytes, const T& symbol) {
  return hipGetSymbolSize(bytes, (const void*)&symbol);
}
template <typename T>
__host__ hipError_t hipMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                      hipMemcpyKind kind = hipMemcpyHostToDevice) {
  return hipMemcpyToSymbol((const void*)&symbol, from, bytes, offset, kind);
}
template <typename T>
__host__ hipError_t hipMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset,
                                           hipMemcpyKind kind, hipStream_t stream = 0) {
  return hipMemcpyToSymbolAsync((const void*)&symbol, from, bytes, offset, kind, stream);
}
template <typename T>
__host__ hipError_t hipMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                        hipMemcpyKind kind = hipMemcpyDeviceToHost) {
  return hipMemcpyFromSymbol(to, (const void*)&symbol, bytes, offset, kind);
}
template <typename T>
__host__ hipError_t hipMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset,
                                             hipMemcpyKind kind, hipStream_t stream = 0) {
  return hipMemcpyFromSymbolAsync(to, (const void*)&symbol, bytes, offset, kind, stream);
}

template <typename Kernel>
__host__ hipError_t hipLaunchKernel(Kernel* kernel, dim3 grid, dim3 block, void** arguments, size_t lds = 0,
                                    hipStream_t stream = 0) {
  return hipLaunchKernel((const void*)kernel, grid, block, arguments, lds, stream);
}
template <typename Kernel>
__host__ hipError_t hipLaunchCooperativeKernel(Kernel kernel, dim3 grid, dim3 block, void** arguments, unsigned lds,
                                               hipStream_t stream) {
  return hipLaunchCooperativeKernel((const void*)kernel, grid, block, arguments, lds, stream);
}
template <typename Kernel>
__host__ hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, Kernel* kernel) {
  return hipFuncGetAttributes(attributes, (const void*)kernel);
}
template <typename Kernel>
__host__ hipError_t hipFuncSetAttribute(Kernel* kernel, hipFuncAttribute attribute, int value) {
  return hipFuncSetAttribute((const void*)kernel, attribute, value);
}
template <typename Kernel>
__host__ hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int threads,
                                                                 size_t lds) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)kernel, threads, lds);
}
template <typename Kernel>
__host__ hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* threads, Kernel kernel, size_t lds = 0,
                                                      int limit = 0) {
  return hipOccupancyMaxPotentialBlockSize(grid, threads, (const void*)kernel, lds, limit);
}

#if defined(__HIP__)
#define hipLaunchKernelGGL(kernel, grid, block, lds, stream, ...) \
  kernel<<<dim3(grid), dim3(block), (lds), (stream)>>>(__VA_ARGS__)
#endif
