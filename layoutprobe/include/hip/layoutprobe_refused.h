// Host functions of HIP that the emulated runtime does not have. Calling one is a compile-time error that says why.
#pragma once
#include <hip/layoutprobe_host_types.h>

#if defined(__clang__)
#define LAYOUTPROBE_REFUSED(why, name)                                                          \
  __host__ __attribute__((unavailable("the emulated HIP runtime has no " why))) hipError_t name
#ifdef __cplusplus
extern "C" {
#endif
#define LAYOUTPROBE_IPC(name) LAYOUTPROBE_REFUSED("memory that processes share: each has a device of its own", name)
LAYOUTPROBE_IPC(hipIpcGetMemHandle)(hipIpcMemHandle_t* handle, void* memory);
LAYOUTPROBE_IPC(hipIpcOpenMemHandle)(void** memory, hipIpcMemHandle_t handle, unsigned flags);
LAYOUTPROBE_IPC(hipIpcCloseMemHandle)(void* memory);
#undef LAYOUTPROBE_IPC
#define LAYOUTPROBE_TEXTURES(name) LAYOUTPROBE_REFUSED("arrays and no textures: use memory of hipMalloc", name)
LAYOUTPROBE_TEXTURES(hipMallocArray)(hipArray_t* array, const hipChannelFormatDesc* format, size_t width, size_t height,
                                     unsigned flags LAYOUTPROBE_OR(0));
LAYOUTPROBE_TEXTURES(hipCreateChannelDesc)(int x, int y, int z, int w, enum hipChannelFormatKind kind);
LAYOUTPROBE_TEXTURES(hipFreeArray)(hipArray_t array);
LAYOUTPROBE_TEXTURES(hipMemcpyToArray)(hipArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                       hipMemcpyKind kind);
LAYOUTPROBE_TEXTURES(hipMemcpy2DToArray)(hipArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                         size_t width, size_t height, hipMemcpyKind kind);
LAYOUTPROBE_TEXTURES(hipCreateTextureObject)(hipTextureObject_t* made, const struct hipResourceDesc* resource,
                                             const struct hipTextureDesc* texture,
                                             const struct hipResourceViewDesc* view);
LAYOUTPROBE_TEXTURES(hipDestroyTextureObject)(hipTextureObject_t texture);
LAYOUTPROBE_TEXTURES(hipUnbindTexture)(const void* texture);
#undef LAYOUTPROBE_TEXTURES
#ifdef __cplusplus
}
#endif
#undef LAYOUTPROBE_REFUSED
#endif
