// HIP's host interface, for C and C++: what the emulated runtime has (docs/hip.md lists it). In a source whose device
// code alone is compiled it is declared only, so that a kernel's source may hold its launcher.
#pragma once
#include <hip/layoutprobe_host_types.h>
#include <hip/hip_version.h>

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif
#define LAYOUTPROBE_API __host__ hipError_t

// Errors.
LAYOUTPROBE_API hipGetLastError(void);
LAYOUTPROBE_API hipPeekAtLastError(void);
LAYOUTPROBE_API hipExtGetLastError(void);
__host__ const char* hipGetErrorName(hipError_t error);
__host__ const char* hipGetErrorString(hipError_t error);
LAYOUTPROBE_API hipDrvGetErrorName(hipError_t error, const char** name);
LAYOUTPROBE_API hipDrvGetErrorString(hipError_t error, const char** words);

// Devices and contexts.
LAYOUTPROBE_API hipInit(unsigned flags);
LAYOUTPROBE_API hipDriverGetVersion(int* version);
LAYOUTPROBE_API hipRuntimeGetVersion(int* version);
LAYOUTPROBE_API hipGetDeviceCount(int* count);
LAYOUTPROBE_API hipGetDevice(int* device);
LAYOUTPROBE_API hipSetDevice(int device);
LAYOUTPROBE_API hipGetDeviceFlags(unsigned* flags);
LAYOUTPROBE_API hipSetDeviceFlags(unsigned flags);
LAYOUTPROBE_API hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
LAYOUTPROBE_API hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
LAYOUTPROBE_API hipDeviceGet(hipDevice_t* device, int ordinal);
LAYOUTPROBE_API hipDeviceGetName(char* name, int length, hipDevice_t device);
LAYOUTPROBE_API hipDeviceGetPCIBusId(char* id, int length, int device);
LAYOUTPROBE_API hipDeviceTotalMem(size_t* bytes, hipDevice_t device);
LAYOUTPROBE_API hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device);
LAYOUTPROBE_API hipDeviceCanAccessPeer(int* can, int device, int peer);
LAYOUTPROBE_API hipDeviceGetCacheConfig(hipFuncCache_t* config);
LAYOUTPROBE_API hipDeviceSetCacheConfig(hipFuncCache_t config);
LAYOUTPROBE_API hipDeviceSetSharedMemConfig(hipSharedMemConfig config);
LAYOUTPROBE_API hipDeviceGetSharedMemConfig(hipSharedMemConfig* config);
LAYOUTPROBE_API hipDeviceSetLimit(hipLimit_t limit, size_t value);
LAYOUTPROBE_API hipDeviceGetLimit(size_t* value, hipLimit_t limit);
LAYOUTPROBE_API hipDeviceGetUuid(hipUUID* id, hipDevice_t device);
LAYOUTPROBE_API hipChooseDevice(int* device, const hipDeviceProp_t* wanted);
LAYOUTPROBE_API hipDeviceGetByPCIBusId(int* device, const char* id);
LAYOUTPROBE_API hipDeviceEnablePeerAccess(int peer, unsigned flags);
LAYOUTPROBE_API hipDeviceDisablePeerAccess(int peer);
LAYOUTPROBE_API hipDeviceGetStreamPriorityRange(int* least, int* greatest);
LAYOUTPROBE_API hipDeviceSynchronize(void);
LAYOUTPROBE_API hipDeviceReset(void);
LAYOUTPROBE_API hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device);
LAYOUTPROBE_API hipDevicePrimaryCtxRelease(hipDevice_t device);
LAYOUTPROBE_API hipCtxCreate(hipCtx_t* context, unsigned flags, hipDevice_t device);
LAYOUTPROBE_API hipCtxDestroy(hipCtx_t context);
LAYOUTPROBE_API hipCtxGetCurrent(hipCtx_t* context);
LAYOUTPROBE_API hipCtxSetCurrent(hipCtx_t context);
LAYOUTPROBE_API hipCtxSynchronize(void);
LAYOUTPROBE_API hipProfilerStart(void);
LAYOUTPROBE_API hipProfilerStop(void);

// Memory.
LAYOUTPROBE_API hipMalloc(void** memory, size_t bytes);
LAYOUTPROBE_API hipExtMallocWithFlags(void** memory, size_t bytes, unsigned flags);
LAYOUTPROBE_API hipMallocAsync(void** memory, size_t bytes, hipStream_t stream);
LAYOUTPROBE_API hipMallocPitch(void** memory, size_t* pitch, size_t width, size_t height);
LAYOUTPROBE_API hipMallocManaged(void** memory, size_t bytes, unsigned flags LAYOUTPROBE_OR(hipMemAttachGlobal));
LAYOUTPROBE_API hipHostMalloc(void** memory, size_t bytes, unsigned flags);
LAYOUTPROBE_API hipHostAlloc(void** memory, size_t bytes, unsigned flags);
LAYOUTPROBE_API hipExtHostAlloc(void** memory, size_t bytes, unsigned flags);
LAYOUTPROBE_API hipMallocHost(void** memory, size_t bytes);
LAYOUTPROBE_API hipMemAllocHost(void** memory, size_t bytes);
LAYOUTPROBE_API hipFree(void* memory);
LAYOUTPROBE_API hipFreeAsync(void* memory, hipStream_t stream);
LAYOUTPROBE_API hipHostFree(void* memory);
LAYOUTPROBE_API hipFreeHost(void* memory);
LAYOUTPROBE_API hipHostGetDevicePointer(void** device, void* host, unsigned flags);
LAYOUTPROBE_API hipHostGetFlags(unsigned* flags, void* host);
LAYOUTPROBE_API hipHostRegister(void* memory, size_t bytes, unsigned flags);
LAYOUTPROBE_API hipHostUnregister(void* memory);
LAYOUTPROBE_API hipMalloc3D(hipPitchedPtr* memory, hipExtent extent);
LAYOUTPROBE_API hipMemAllocPitch(hipDeviceptr_t* memory, size_t* pitch, size_t width, size_t height, unsigned item);
LAYOUTPROBE_API hipMemGetInfo(size_t* unused, size_t* total);
LAYOUTPROBE_API hipMemGetAddressRange(hipDeviceptr_t* begin, size_t* bytes, hipDeviceptr_t pointer);
LAYOUTPROBE_API hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer);
LAYOUTPROBE_API hipMemAdvise(const void* memory, size_t bytes, hipMemoryAdvise advice, int device);
LAYOUTPROBE_API hipMemPrefetchAsync(const void* memory, size_t bytes, int device,
                                    hipStream_t stream LAYOUTPROBE_OR(0));

// Pools.
LAYOUTPROBE_API hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device);
LAYOUTPROBE_API hipDeviceGetMemPool(hipMemPool_t* pool, int device);
LAYOUTPROBE_API hipDeviceSetMemPool(int device, hipMemPool_t pool);
LAYOUTPROBE_API hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* properties);
LAYOUTPROBE_API hipMemPoolDestroy(hipMemPool_t pool);
LAYOUTPROBE_API hipMallocFromPoolAsync(void** memory, size_t bytes, hipMemPool_t pool, hipStream_t stream);
LAYOUTPROBE_API hipMemPoolTrimTo(hipMemPool_t pool, size_t bytes);
LAYOUTPROBE_API hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value);
LAYOUTPROBE_API hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value);

// Copies and fills.
LAYOUTPROBE_API hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind);
LAYOUTPROBE_API hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                    hipStream_t stream);
LAYOUTPROBE_API hipMemcpyHtoD(hipDeviceptr_t to, const void* from, size_t bytes);
LAYOUTPROBE_API hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes);
LAYOUTPROBE_API hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes);
LAYOUTPROBE_API hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, size_t bytes, hipStream_t stream);
LAYOUTPROBE_API hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes, hipStream_t stream);
LAYOUTPROBE_API hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes, hipStream_t stream);
LAYOUTPROBE_API hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                            size_t height, hipMemcpyKind kind);
LAYOUTPROBE_API hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                 size_t height, hipMemcpyKind kind, hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemset(void* memory, int value, size_t bytes);
LAYOUTPROBE_API hipMemsetAsync(void* memory, int value, size_t bytes, hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemcpy3D(const struct hipMemcpy3DParms* copy);
LAYOUTPROBE_API hipMemcpy3DAsync(const struct hipMemcpy3DParms* copy, hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes);
LAYOUTPROBE_API hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                   hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemset2DAsync(void* memory, size_t pitch, int value, size_t width, size_t height,
                                 hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemset3D(hipPitchedPtr memory, int value, hipExtent extent);
LAYOUTPROBE_API hipMemset3DAsync(hipPitchedPtr memory, int value, hipExtent extent,
                                 hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemset2D(void* memory, size_t pitch, int value, size_t width, size_t height);
LAYOUTPROBE_API hipMemsetD8(hipDeviceptr_t memory, unsigned char value, size_t count);
LAYOUTPROBE_API hipMemsetD16(hipDeviceptr_t memory, unsigned short value, size_t count);
LAYOUTPROBE_API hipMemsetD32(hipDeviceptr_t memory, int value, size_t count);
LAYOUTPROBE_API hipMemsetD8Async(hipDeviceptr_t memory, unsigned char value, size_t count,
                                 hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemsetD16Async(hipDeviceptr_t memory, unsigned short value, size_t count,
                                  hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemsetD32Async(hipDeviceptr_t memory, int value, size_t count,
                                  hipStream_t stream LAYOUTPROBE_OR(0));

// Variables of the device, by their names in the source.
LAYOUTPROBE_API hipGetSymbolAddress(void** memory, const void* symbol);
LAYOUTPROBE_API hipGetSymbolSize(size_t* bytes, const void* symbol);
LAYOUTPROBE_API hipMemcpyToSymbol(const void* symbol, const void* from, size_t bytes,
                                  size_t offset LAYOUTPROBE_OR(0),
                                  hipMemcpyKind kind LAYOUTPROBE_OR(hipMemcpyHostToDevice));
LAYOUTPROBE_API hipMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset LAYOUTPROBE_OR(0),
                                    hipMemcpyKind kind LAYOUTPROBE_OR(hipMemcpyDeviceToHost));
LAYOUTPROBE_API hipMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                       hipMemcpyKind kind, hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                         hipMemcpyKind kind, hipStream_t stream LAYOUTPROBE_OR(0));

// Streams and events.
LAYOUTPROBE_API hipStreamCreate(hipStream_t* stream);
LAYOUTPROBE_API hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
LAYOUTPROBE_API hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority);
LAYOUTPROBE_API hipStreamDestroy(hipStream_t stream);
LAYOUTPROBE_API hipStreamSynchronize(hipStream_t stream);
LAYOUTPROBE_API hipStreamQuery(hipStream_t stream);
LAYOUTPROBE_API hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipStreamGetFlags(hipStream_t stream, unsigned* flags);
LAYOUTPROBE_API hipStreamGetPriority(hipStream_t stream, int* priority);
LAYOUTPROBE_API hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
LAYOUTPROBE_API hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status);
LAYOUTPROBE_API hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t call, void* data, unsigned flags);
LAYOUTPROBE_API hipLaunchHostFunc(hipStream_t stream, hipHostFn_t call, void* data);
LAYOUTPROBE_API hipEventCreate(hipEvent_t* event);
LAYOUTPROBE_API hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
LAYOUTPROBE_API hipEventDestroy(hipEvent_t event);
LAYOUTPROBE_API hipEventRecord(hipEvent_t event, hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream LAYOUTPROBE_OR(0),
                                        unsigned flags LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipEventSynchronize(hipEvent_t event);
LAYOUTPROBE_API hipEventQuery(hipEvent_t event);
LAYOUTPROBE_API hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);

// Modules, kernels and launches.
LAYOUTPROBE_API hipModuleLoad(hipModule_t* module, const char* path);
LAYOUTPROBE_API hipModuleLoadData(hipModule_t* module, const void* image);
LAYOUTPROBE_API hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned count, hipJitOption* options,
                                    void** values);
LAYOUTPROBE_API hipModuleLoadFatBinary(hipModule_t* module, const void* image);
LAYOUTPROBE_API hipModuleUnload(hipModule_t module);
LAYOUTPROBE_API hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name);
LAYOUTPROBE_API hipModuleGetGlobal(hipDeviceptr_t* memory, size_t* bytes, hipModule_t module, const char* name);
LAYOUTPROBE_API hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds,
                                      hipStream_t stream, void** arguments, void** extra);
LAYOUTPROBE_API hipExtModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z,
                                         uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t lds,
                                         hipStream_t stream, void** arguments, void** extra,
                                         hipEvent_t start LAYOUTPROBE_OR(0), hipEvent_t stop LAYOUTPROBE_OR(0),
                                         uint32_t flags LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                size_t lds LAYOUTPROBE_OR(0), hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API hipExtLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t lds,
                                   hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags);
LAYOUTPROBE_API hipLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                           unsigned lds, hipStream_t stream);
LAYOUTPROBE_API hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                                 unsigned block_z, unsigned lds, hipStream_t stream,
                                                 void** arguments);
LAYOUTPROBE_API hipGetFuncBySymbol(hipFunction_t* function, const void* kernel);
LAYOUTPROBE_API hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t function);
LAYOUTPROBE_API hipFuncGetAttributes(hipFuncAttributes* attributes, const void* kernel);
LAYOUTPROBE_API hipFuncSetAttribute(const void* kernel, hipFuncAttribute attribute, int value);
LAYOUTPROBE_API hipFuncSetCacheConfig(const void* kernel, hipFuncCache_t config);
LAYOUTPROBE_API hipFuncSetSharedMemConfig(const void* kernel, hipSharedMemConfig config);
LAYOUTPROBE_API hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function,
                                                                   int threads, size_t lds);
LAYOUTPROBE_API hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* threads, hipFunction_t function,
                                                        size_t lds, int limit);
LAYOUTPROBE_API hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                             size_t lds);
LAYOUTPROBE_API hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                      int threads, size_t lds,
                                                                      unsigned flags);
LAYOUTPROBE_API hipOccupancyMaxPotentialBlockSize(int* grid, int* threads, const void* kernel, size_t lds,
                                                  int limit);

// Graphs.
LAYOUTPROBE_API hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode);
LAYOUTPROBE_API hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph);
LAYOUTPROBE_API hipGraphCreate(hipGraph_t* graph, unsigned flags);
LAYOUTPROBE_API hipGraphDestroy(hipGraph_t graph);
LAYOUTPROBE_API hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count);
LAYOUTPROBE_API hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,
                                      const hipKernelNodeParams* kernel);
LAYOUTPROBE_API hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                        size_t count, void* to, const void* from, size_t bytes, hipMemcpyKind kind);
LAYOUTPROBE_API hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,
                                      const hipMemcpy3DParms* copy);
LAYOUTPROBE_API hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,
                                      const hipMemsetParams* fill);
LAYOUTPROBE_API hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,
                                    const hipHostNodeParams* call);
LAYOUTPROBE_API hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                        size_t count);
LAYOUTPROBE_API hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type);
LAYOUTPROBE_API hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count);
LAYOUTPROBE_API hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count);
LAYOUTPROBE_API hipGraphInstantiate(hipGraphExec_t* made, hipGraph_t graph, hipGraphNode_t* wrong, char* log,
                                    size_t bytes);
LAYOUTPROBE_API hipGraphInstantiateWithFlags(hipGraphExec_t* made, hipGraph_t graph, unsigned long long flags);
LAYOUTPROBE_API hipGraphExecDestroy(hipGraphExec_t graph);
LAYOUTPROBE_API hipGraphExecKernelNodeSetParams(hipGraphExec_t graph, hipGraphNode_t node,
                                                const hipKernelNodeParams* kernel);
LAYOUTPROBE_API hipGraphUpload(hipGraphExec_t graph, hipStream_t stream);
LAYOUTPROBE_API hipGraphLaunch(hipGraphExec_t graph, hipStream_t stream);

// What kernel<<<grid, block, lds, stream>>>(...) calls.
LAYOUTPROBE_API __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds LAYOUTPROBE_OR(0),
                                           hipStream_t stream LAYOUTPROBE_OR(0));
LAYOUTPROBE_API __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds, hipStream_t* stream);
#ifdef __cplusplus
}
#endif

#include <hip/layoutprobe_refused.h>
#undef LAYOUTPROBE_API
#ifdef __cplusplus
#include <hip/layoutprobe_typed.h>
#endif
