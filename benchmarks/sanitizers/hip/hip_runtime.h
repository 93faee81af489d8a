// The part of HIP that the samples use, on CUDA: for benchmarks/sanitizers, and for nothing else.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>

#define __HIP_MEMORY_SCOPE_AGENT 0
#define __hip_atomic_load(at, order, scope) (*(const volatile decltype(+*(at))*)(at))
#define __builtin_amdgcn_s_sleep(n) __nanosleep(64)
#define __builtin_amdgcn_readfirstlane(x) __shfl_sync(__activemask(), x, 0)
#define __ballot(x) __ballot_sync(__activemask(), x)
#define __any(x) __any_sync(__activemask(), x)
#define __all(x) __all_sync(__activemask(), x)
#define __shfl(...) __shfl_sync(__activemask(), __VA_ARGS__)
#define __shfl_up(...) __shfl_up_sync(__activemask(), __VA_ARGS__)
#define __shfl_down(...) __shfl_down_sync(__activemask(), __VA_ARGS__)
#define __shfl_xor(...) __shfl_xor_sync(__activemask(), __VA_ARGS__)
#define HIP_SYMBOL(x) x
#define hipLaunchKernelGGL(kernel, grid, block, lds, stream, ...) kernel<<<grid, block, lds, stream>>>(__VA_ARGS__)

template <class T> cudaError_t hipHostMalloc(T** at, size_t size, unsigned flags = 0) {
  return cudaHostAlloc((void**)at, size, flags);
}
#define hipHostFree cudaFreeHost
#define hipHostMallocDefault cudaHostAllocDefault
#define hipStreamDefault 0
#define hipDeviceProp_t cudaDeviceProp

#define hipError_t cudaError_t
#define hipSuccess cudaSuccess
#define hipGetErrorString cudaGetErrorString
#define hipGetLastError cudaGetLastError
#define hipErrorNotReady cudaErrorNotReady
#define hipErrorInvalidValue cudaErrorInvalidValue
#define hipErrorInvalidDevice cudaErrorInvalidDevice
#define hipErrorHostMemoryNotRegistered cudaErrorHostMemoryNotRegistered
#define hipErrorHostMemoryAlreadyRegistered cudaErrorHostMemoryAlreadyRegistered
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemcpy cudaMemcpy
#define hipMemcpyAsync cudaMemcpyAsync
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToDevice cudaMemcpyDeviceToDevice
#define hipMemset cudaMemset
#define hipMemsetAsync cudaMemsetAsync
#define hipMemcpyToSymbol cudaMemcpyToSymbol
#define hipMemcpyFromSymbol cudaMemcpyFromSymbol
#define hipMallocManaged cudaMallocManaged
#define hipMallocPitch cudaMallocPitch
#define hipMalloc3D cudaMalloc3D
#define hipMemcpy2D cudaMemcpy2D
#define hipMemcpy3D cudaMemcpy3D
#define hipMemset2D cudaMemset2D
#define hipMemset3D cudaMemset3D
#define hipExtent cudaExtent
#define hipPitchedPtr cudaPitchedPtr
#define hipPos cudaPos
#define hipMemcpy3DParms cudaMemcpy3DParms
#define hipHostRegister cudaHostRegister
#define hipHostRegisterDefault cudaHostRegisterDefault
#define hipHostUnregister cudaHostUnregister
#define hipHostGetDevicePointer cudaHostGetDevicePointer
#define hipStream_t cudaStream_t
#define hipStreamCreate cudaStreamCreate
#define hipStreamCreateWithFlags cudaStreamCreateWithFlags
#define hipStreamDestroy cudaStreamDestroy
#define hipStreamNonBlocking cudaStreamNonBlocking
#define hipStreamSynchronize cudaStreamSynchronize
#define hipStreamWaitEvent cudaStreamWaitEvent
#define hipStreamAddCallback cudaStreamAddCallback
#define hipLaunchHostFunc cudaLaunchHostFunc
#define hipStreamBeginCapture cudaStreamBeginCapture
#define hipStreamEndCapture cudaStreamEndCapture
#define hipStreamIsCapturing cudaStreamIsCapturing
#define hipStreamCaptureModeGlobal cudaStreamCaptureModeGlobal
#define hipStreamCaptureStatus cudaStreamCaptureStatus
#define hipStreamCaptureStatusActive cudaStreamCaptureStatusActive
#define hipEvent_t cudaEvent_t
#define hipEventCreate cudaEventCreate
#define hipEventCreateWithFlags cudaEventCreateWithFlags
#define hipEventDestroy cudaEventDestroy
#define hipEventRecord cudaEventRecord
#define hipEventSynchronize cudaEventSynchronize
#define hipEventQuery cudaEventQuery
#define hipEventElapsedTime cudaEventElapsedTime
#define hipEventDisableTiming cudaEventDisableTiming
#define hipEventDefault cudaEventDefault
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipGraph_t cudaGraph_t
#define hipGraphExec_t cudaGraphExec_t
#define hipGraphNode_t cudaGraphNode_t
#define hipGraphCreate cudaGraphCreate
#define hipGraphDestroy cudaGraphDestroy
#define hipGraphLaunch cudaGraphLaunch
#define hipGraphExecDestroy cudaGraphExecDestroy
#define hipGraphAddKernelNode cudaGraphAddKernelNode
#define hipGraphAddMemcpyNode cudaGraphAddMemcpyNode
#define hipGraphAddMemsetNode cudaGraphAddMemsetNode
#define hipGraphAddHostNode cudaGraphAddHostNode
#define hipGraphAddDependencies cudaGraphAddDependencies
#define hipGraphGetNodes cudaGraphGetNodes
#define hipGraphGetRootNodes cudaGraphGetRootNodes
#define hipKernelNodeParams cudaKernelNodeParams
#define hipMemsetParams cudaMemsetParams
#define hipHostNodeParams cudaHostNodeParams
#define hipGraphExecKernelNodeSetParams cudaGraphExecKernelNodeSetParams
#define hipMallocFromPoolAsync cudaMallocFromPoolAsync
#define hipFreeAsync cudaFreeAsync
#define hipMallocAsync cudaMallocAsync
#define hipMemPool_t cudaMemPool_t
#define hipDeviceGetDefaultMemPool cudaDeviceGetDefaultMemPool
#define hipMemPoolSetAttribute cudaMemPoolSetAttribute
#define hipMemPoolGetAttribute cudaMemPoolGetAttribute
#define hipMemPoolAttrReleaseThreshold cudaMemPoolAttrReleaseThreshold
#define hipLaunchCooperativeKernel cudaLaunchCooperativeKernel
#define hipGetDeviceProperties cudaGetDeviceProperties
#define hipGetDeviceCount cudaGetDeviceCount
#define hipFuncAttributes cudaFuncAttributes
#define hipFuncGetAttributes cudaFuncGetAttributes
#define hipOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessor
#define hipOccupancyMaxPotentialBlockSize cudaOccupancyMaxPotentialBlockSize
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDeviceGetLimit cudaDeviceGetLimit
#define hipLimitPrintfFifoSize cudaLimitPrintfFifoSize
#define hipMemcpyPeer cudaMemcpyPeer
#define hipDeviceCanAccessPeer cudaDeviceCanAccessPeer
#define hipDeviceEnablePeerAccess cudaDeviceEnablePeerAccess

template <class... Words> cudaError_t hipGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, Words...) {
  return cudaGraphInstantiate(exec, graph, 0);
}
#define hipMemcpy3DAsync cudaMemcpy3DAsync
#define hipMemset3DAsync cudaMemset3DAsync
#define make_hipExtent make_cudaExtent
#define make_hipPitchedPtr make_cudaPitchedPtr
#define make_hipPos make_cudaPos

// HIP's vectors have operators.
inline __host__ __device__ float3 operator*(float3 a, float b) { return {a.x * b, a.y * b, a.z * b}; }
inline __host__ __device__ float3 operator*(float b, float3 a) { return a * b; }
inline __host__ __device__ float3 operator+(float3 a, float3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline __host__ __device__ float3 operator-(float3 a, float3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline __host__ __device__ float3& operator+=(float3& a, float3 b) { return a = a + b; }
