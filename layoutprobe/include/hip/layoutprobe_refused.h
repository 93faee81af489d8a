// Host functions of HIP that the emulated runtime does not have. Calling one is a compile-time error that says why.
#pragma once
#include <hip/layoutprobe_host_types.h>

#if defined(__clang__)
#define LAYOUTPROBE_REFUSED(why, name)                                                          \
  __host__ __attribute__((unavailable("the emulated HIP runtime has no " why))) hipError_t name
#ifdef __cplusplus
extern "C" {
#endif
#define LAYOUTPROBE_GRAPHS(name) LAYOUTPROBE_REFUSED("graphs and no stream capture: launch the kernels themselves", name)
LAYOUTPROBE_GRAPHS(hipStreamBeginCapture)(hipStream_t stream, hipStreamCaptureMode mode);
LAYOUTPROBE_GRAPHS(hipStreamEndCapture)(hipStream_t stream, hipGraph_t* graph);
LAYOUTPROBE_GRAPHS(hipGraphCreate)(hipGraph_t* graph, unsigned flags);
LAYOUTPROBE_GRAPHS(hipGraphDestroy)(hipGraph_t graph);
LAYOUTPROBE_GRAPHS(hipGraphInstantiate)(hipGraphExec_t* made, hipGraph_t graph, hipGraphNode_t* node, char* log,
                                        size_t bytes);
LAYOUTPROBE_GRAPHS(hipGraphInstantiateWithFlags)(hipGraphExec_t* made, hipGraph_t graph, unsigned long long flags);
LAYOUTPROBE_GRAPHS(hipGraphLaunch)(hipGraphExec_t graph, hipStream_t stream);
LAYOUTPROBE_GRAPHS(hipGraphExecDestroy)(hipGraphExec_t graph);
#undef LAYOUTPROBE_GRAPHS
#define LAYOUTPROBE_PEERS(name) LAYOUTPROBE_REFUSED("second device: `layoutprobe run` emulates one", name)
LAYOUTPROBE_PEERS(hipDeviceEnablePeerAccess)(int peer, unsigned flags);
LAYOUTPROBE_PEERS(hipDeviceDisablePeerAccess)(int peer);
LAYOUTPROBE_PEERS(hipMemcpyPeer)(void* to, int to_device, const void* from, int from_device, size_t bytes);
LAYOUTPROBE_PEERS(hipMemcpyPeerAsync)(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                      hipStream_t stream);
#undef LAYOUTPROBE_PEERS
#define LAYOUTPROBE_IPC(name) LAYOUTPROBE_REFUSED("memory that processes share: each has a device of its own", name)
LAYOUTPROBE_IPC(hipIpcGetMemHandle)(hipIpcMemHandle_t* handle, void* memory);
LAYOUTPROBE_IPC(hipIpcOpenMemHandle)(void** memory, hipIpcMemHandle_t handle, unsigned flags);
LAYOUTPROBE_IPC(hipIpcCloseMemHandle)(void* memory);
#undef LAYOUTPROBE_IPC
#define LAYOUTPROBE_TEXTURES(name) LAYOUTPROBE_REFUSED("arrays and no textures: use memory of hipMalloc", name)
LAYOUTPROBE_TEXTURES(hipFreeArray)(hipArray_t array);
LAYOUTPROBE_TEXTURES(hipUnbindTexture)(const void* texture);
#undef LAYOUTPROBE_TEXTURES
LAYOUTPROBE_REFUSED("limits to set: its stack and its heap are what the kernel says", hipDeviceSetLimit)
(hipLimit_t limit, size_t value);
LAYOUTPROBE_REFUSED("limits to ask for", hipDeviceGetLimit)(size_t* value, hipLimit_t limit);
#ifdef __cplusplus
}
#endif
#undef LAYOUTPROBE_REFUSED
#endif
