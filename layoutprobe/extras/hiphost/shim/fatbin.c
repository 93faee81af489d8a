/* What clang makes of <<<...>>> in a HIP source: constructors that register the program's fat
 * binary, kernels and variables, and stubs that launch by the address of a host function.
 * Source: clang/lib/CodeGen/CGCUDANV.cpp.
 *
 * Constructors run before anything else does, so that registering only takes notes: the code is
 * loaded when it is first used. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define MAGIC 0x48495046 /* "HIPF" */

struct binary {
  const void *image;
  hipModule_t module;
};
struct kernel {
  struct kernel *next;
  struct binary *binary;
  const void *host;
  const char *name;
  hipFunction_t function;
};
struct variable {
  struct variable *next;
  struct binary *binary;
  const void *host;
  const char *name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kernel *kernels;
static struct variable *variables;
struct managed {
  struct managed *next;
  struct binary *binary;
  void *memory;
  const char *name;
};
static struct managed *managed_ones;

API void **__hipRegisterFatBinary(const void *data) {
  const struct { uint32_t magic, version; const void *image; } *wrapper = data;
  struct binary *made = calloc(1, sizeof *made);
  if (!made || wrapper->magic != MAGIC) abort();
  made->image = wrapper->image;
  return (void **)made;
}

API void __hipUnregisterFatBinary(void **binary) {
  struct binary *made = (struct binary *)binary;
  pthread_mutex_lock(&lock);
  for (struct kernel **at = &kernels; *at;) {
    struct kernel *one = *at;
    if (one->binary == made) *at = one->next, free(one);
    else at = &one->next;
  }
  for (struct variable **at = &variables; *at;) {
    struct variable *one = *at;
    if (one->binary == made) *at = one->next, free(one);
    else at = &one->next;
  }
  for (struct managed **at = &managed_ones; *at;) {
    struct managed *one = *at;
    if (one->binary != made) { at = &one->next; continue; }
    if (one->memory) ASK(OP_FREE, NULL, (uintptr_t)one->memory);
    *at = one->next, free(one);
  }
  pthread_mutex_unlock(&lock);
  if (made->module) shim_unload(made->module); /* the process ends, and its device with it */
  free(made);
}

API void __hipRegisterFunction(void **binary, const void *host, char *device_function, const char *name,
                               unsigned thread_limit, void *thread, void *block, dim3 *block_size,
                               dim3 *grid_size, int *wave_size) {
  (void)device_function, (void)thread_limit, (void)thread, (void)block;
  (void)block_size, (void)grid_size, (void)wave_size;
  struct kernel *made = calloc(1, sizeof *made);
  if (!made) abort();
  *made = (struct kernel){kernels, (struct binary *)binary, host, name, NULL};
  kernels = made;
}

API void __hipRegisterVar(void **binary, void *host, char *host_name, const char *name, int external,
                          size_t size, int constant, int global) {
  (void)host_name, (void)external, (void)size, (void)constant, (void)global;
  struct variable *made = calloc(1, sizeof *made);
  if (!made) abort();
  *made = (struct variable){variables, (struct binary *)binary, host, name};
  variables = made;
}

/* __managed__: both sides have a pointer to the memory; the host's is set at once, as it needs no kernel. */
API void __hipRegisterManagedVar(void *binary, void **pointer, void *initial, const char *name, size_t size,
                                 unsigned alignment) {
  hipError_t hipMallocManaged(void **, size_t, unsigned);
  (void)alignment;
  struct managed *made = calloc(1, sizeof *made);
  if (!made) abort();
  *made = (struct managed){managed_ones, binary, NULL, name};
  managed_ones = made;
  if (hipMallocManaged(&made->memory, size, 0)) *pointer = initial; /* no device: the host goes on alone */
  else *pointer = memcpy(made->memory, initial, size);
}

static hipError_t loaded(struct binary *binary) {
  hipError_t hipModuleGetGlobal(hipDeviceptr_t *, size_t *, hipModule_t, const char *);
  if (binary->module) return hipSuccess;
  hipError_t status = shim_load(binary->image, &binary->module);
  for (struct managed *at = managed_ones; at && !status; at = at->next) {
    void *there;
    size_t size;
    if (at->binary != binary || (status = hipModuleGetGlobal(&there, &size, binary->module, at->name))) continue;
    status = shim_copy(there, &at->memory, sizeof at->memory, 4);
  }
  return status;
}

hipError_t shim_registered(const void *host, hipFunction_t *function) {
  pthread_mutex_lock(&lock);
  struct kernel *at = kernels;
  while (at && at->host != host) at = at->next;
  hipError_t status = at ? hipSuccess : hipErrorInvalidDeviceFunction;
  if (at && !at->function && !(status = loaded(at->binary)))
    status = shim_find(at->binary->module, at->name, &at->function);
  if (!status) *function = at->function;
  pthread_mutex_unlock(&lock);
  return status;
}

API hipError_t hipGetFuncBySymbol(hipFunction_t *function, const void *host) {
  return shim_return(shim_registered(host, function));
}

/* f<<<grid, block, lds, stream>>>(...) pushes, and the stub of f pops and launches. */
static __thread struct { dim3 grid, block; size_t lds; hipStream_t stream; } pushed;

API hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
  pushed.grid = grid, pushed.block = block, pushed.lds = lds, pushed.stream = stream;
  return hipSuccess;
}

API hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *lds, hipStream_t *stream) {
  *grid = pushed.grid, *block = pushed.block, *lds = pushed.lds, *stream = pushed.stream;
  return hipSuccess;
}

API hipError_t hipLaunchKernel(const void *host, dim3 grid, dim3 block, void **params, size_t lds,
                               hipStream_t stream) {
  hipFunction_t function;
  hipError_t status = shim_registered(host, &function);
  if (status) shim_launch(NULL, grid, block, (uint32_t)lds, stream, NULL, NULL); /* is refused, and counted */
  else status = shim_launch(function, grid, block, (uint32_t)lds, stream, params, NULL);
  return shim_return(status);
}

/* All workgroups of any launch are there at once: they may wait for each other. */
API hipError_t hipLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **params, unsigned lds,
                                          hipStream_t stream) {
  return hipLaunchKernel(host, grid, block, params, lds, stream);
}

API hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                                unsigned block_z, unsigned lds, hipStream_t stream, void **params) {
  dim3 grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
  return shim_return(shim_launch(function, grid, block, lds, stream, params, NULL));
}

API hipError_t hipExtLaunchKernel(const void *host, dim3 grid, dim3 block, void **params, size_t lds,
                                  hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags) {
  hipError_t hipEventRecord(hipEvent_t, hipStream_t);
  (void)flags;
  if (start) hipEventRecord(start, stream);
  hipError_t status = hipLaunchKernel(host, grid, block, params, lds, stream);
  if (stop) hipEventRecord(stop, stream);
  return status;
}

/* Variables: __device__ and __constant__. */

static hipError_t place(const void *symbol, hipDeviceptr_t *pointer, size_t *size) {
  hipError_t hipModuleGetGlobal(hipDeviceptr_t *, size_t *, hipModule_t, const char *);
  pthread_mutex_lock(&lock);
  struct variable *at = variables;
  while (at && at->host != symbol) at = at->next;
  hipError_t status = at ? loaded(at->binary) : hipErrorInvalidSymbol;
  if (!status) status = hipModuleGetGlobal(pointer, size, at->binary->module, at->name);
  pthread_mutex_unlock(&lock);
  return status;
}

API hipError_t hipGetSymbolAddress(void **pointer, const void *symbol) {
  size_t size;
  return shim_return(place(symbol, pointer, &size));
}

API hipError_t hipGetSymbolSize(size_t *size, const void *symbol) {
  void *pointer;
  return shim_return(place(symbol, &pointer, size));
}

static hipError_t part(const void *symbol, size_t size, size_t offset, char **pointer) {
  size_t whole;
  hipError_t status = place(symbol, (void **)pointer, &whole);
  if (status) return status;
  *pointer += offset;
  return offset <= whole && size <= whole - offset ? hipSuccess : hipErrorInvalidValue;
}

API hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset, int kind) {
  char *to;
  hipError_t status = part(symbol, size, offset, &to);
  return shim_return(status ? status : shim_copy(to, from, size, kind));
}

API hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, int kind) {
  char *from;
  hipError_t status = part(symbol, size, offset, &from);
  return shim_return(status ? status : shim_copy(to, from, size, kind));
}

API hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                      int kind, hipStream_t stream) {
  char *to;
  hipError_t status = part(symbol, size, offset, &to);
  return shim_return(status ? status : shim_copy_on(stream, to, from, size, kind));
}

API hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset, int kind,
                                        hipStream_t stream) {
  char *from;
  hipError_t status = part(symbol, size, offset, &from);
  return shim_return(status ? status : shim_copy_on(stream, to, from, size, kind));
}
