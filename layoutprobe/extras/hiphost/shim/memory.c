/* Memory: allocations, copies, fills.
 *
 * An address of the device is in one of two places. What hipMalloc gives is the device's alone, and
 * a host that reads it through a pointer crashes, as on a discrete card. What hipHostMalloc and
 * hipMallocManaged give is memory of both, mapped at one address. */
#include <stdlib.h>
#include <string.h>

#include "graphs.h"

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT };
enum { TYPE_UNREGISTERED, TYPE_HOST, TYPE_DEVICE, TYPE_MANAGED }; /* hipMemoryType of HIP 6 and 7 */

int shim_on_device(const void *pointer) {
  return (uintptr_t)pointer - SHIM_DEVICE_BEGIN < SHIM_DEVICE_SIZE;
}

static int shared(const void *pointer) {
  return (uintptr_t)pointer - SHIM_SHARED_BEGIN < SHIM_SHARED_SIZE;
}

static hipError_t allocate(uint32_t op, void **pointer, size_t size) {
  struct answer answer = {.capacity = 0};
  if (!pointer) return hipErrorInvalidValue;
  *pointer = NULL;
  hipError_t status = size ? ASK(op, &answer, size) : ASK(OP_INIT, NULL, 0);
  if (!status && size) *pointer = (void *)answer.values[0];
  return status;
}

API hipError_t hipMalloc(void **pointer, size_t size) {
  return shim_return(allocate(OP_MALLOC, pointer, size));
}
PRETENDS("flags change nothing")
hipError_t hipExtMallocWithFlags(void **pointer, size_t size, unsigned flags) {
  (void)flags;
  return hipMalloc(pointer, size);
}
API hipError_t hipMemAlloc(hipDeviceptr_t *pointer, size_t size) { return hipMalloc(pointer, size); }
PRETENDS("memory of hipMalloc, at once")
hipError_t hipMallocAsync(void **pointer, size_t size, hipStream_t stream) {
  hipError_t status = shim_enqueued(stream);
  return status ? shim_return(status) : hipMalloc(pointer, size);
}
API hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  *pitch = (width + 255) / 256 * 256;
  return hipMalloc(pointer, *pitch * height);
}

API hipError_t hipHostMalloc(void **pointer, size_t size, unsigned flags) {
  (void)flags;
  return shim_return(allocate(OP_MALLOC_HOST, pointer, size));
}
API hipError_t hipHostAlloc(void **pointer, size_t size, unsigned flags) {
  return hipHostMalloc(pointer, size, flags);
}
API hipError_t hipExtHostAlloc(void **pointer, size_t size, unsigned flags) {
  return hipHostMalloc(pointer, size, flags);
}
API hipError_t hipMallocHost(void **pointer, size_t size) { return hipHostMalloc(pointer, size, 0); }
API hipError_t hipMemAllocHost(void **pointer, size_t size) { return hipHostMalloc(pointer, size, 0); }
API hipError_t hipMallocManaged(void **pointer, size_t size, unsigned flags) {
  (void)flags;
  return shim_return(allocate(OP_MALLOC_MANAGED, pointer, size));
}

API hipError_t hipFree(void *pointer) {
  return shim_return(pointer ? ASK(OP_FREE, NULL, (uintptr_t)pointer) : ASK(OP_SYNC, NULL, 0));
}
PRETENDS("at once, behind all work")
hipError_t hipFreeAsync(void *pointer, hipStream_t stream) {
  hipError_t status = shim_enqueued(stream);
  return status ? shim_return(status) : hipFree(pointer);
}
API hipError_t hipHostFree(void *pointer) { return hipFree(pointer); }
API hipError_t hipFreeHost(void *pointer) { return hipFree(pointer); }

API hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags) {
  (void)flags;
  *device = shared(host) ? host : shim_device_address(host);
  return shim_return(*device ? hipSuccess : hipErrorInvalidValue);
}

PRETENDS("always 0") hipError_t hipHostGetFlags(unsigned *flags, void *host) {
  *flags = 0;
  return shim_return(shared(host) || shim_device_address(host) ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipMemGetInfo(size_t *unused, size_t *total) {
  struct answer answer = {.capacity = 0};
  hipError_t status = ASK(OP_MEMORY, &answer, 0);
  if (!status && unused) *unused = answer.values[0];
  if (!status && total) *total = answer.values[1];
  return shim_return(status);
}

static hipError_t range(const void *pointer, struct answer *answer) { /* begin, size, TYPE_... */
  return ASK(OP_RANGE, answer, (uintptr_t)pointer);
}

API hipError_t hipMemGetAddressRange(hipDeviceptr_t *begin, size_t *size, hipDeviceptr_t pointer) {
  struct answer answer = {.capacity = 0};
  hipError_t status = range(pointer, &answer);
  if (!status && begin) *begin = (void *)answer.values[0];
  if (!status && size) *size = answer.values[1];
  return shim_return(status);
}

/* hipPointerAttribute_t of HIP 6 and 7. */
struct attributes {
  int type, device;
  void *on_device, *on_host;
  int managed;
  unsigned flags;
};

API hipError_t hipPointerGetAttributes(struct attributes *to, const void *pointer) {
  struct answer answer = {.capacity = 0};
  if (!to) return shim_return(hipErrorInvalidValue);
  *to = (struct attributes){.type = TYPE_UNREGISTERED, .on_host = (void *)pointer};
  void *registered = shim_device_address(pointer);
  if (registered) to->type = TYPE_HOST, to->on_device = registered;
  if (!shim_on_device(pointer)) return shim_return(hipSuccess);
  hipError_t status = range(pointer, &answer);
  if (status) return shim_return(status);
  int type = (int)answer.values[2];
  *to = (struct attributes){.type = type, .on_device = (void *)pointer, .managed = type == TYPE_MANAGED};
  if (type != TYPE_DEVICE) to->on_host = (void *)pointer;
  return shim_return(hipSuccess);
}

PRETENDS("memory of both sides is one: nothing moves")
hipError_t hipMemPrefetchAsync(const void *pointer, size_t size, int device, hipStream_t stream) {
  (void)pointer, (void)size, (void)device;
  return shim_return(shim_enqueued(stream));
}
PRETENDS("advice changes nothing")
hipError_t hipMemAdvise(const void *pointer, size_t size, int advice, int device) {
  (void)pointer, (void)size, (void)advice, (void)device;
  return shim_return(hipSuccess);
}

/* Copies. */

static hipError_t write(uintptr_t to, const char *from, size_t size) {
  for (hipError_t status; size;) {
    size_t part = size < SHIM_CHUNK ? size : SHIM_CHUNK;
    uint64_t args[] = {to};
    if ((status = shim_ask(OP_WRITE, args, 1, from, part, NULL))) return status;
    to += part, from += part, size -= part;
  }
  return hipSuccess;
}

static hipError_t read(char *to, uintptr_t from, size_t size) {
  for (hipError_t status; size;) {
    size_t part = size < SHIM_CHUNK ? size : SHIM_CHUNK;
    struct answer answer = {.into = to, .capacity = part};
    if ((status = ASK(OP_READ, &answer, from, part))) return status;
    to += part, from += part, size -= part;
  }
  return hipSuccess;
}

static int fits(const void *pointer, int device) { return device ? shim_on_device(pointer)
                                                                 : !shim_on_device(pointer) || shared(pointer); }

hipError_t shim_copy(void *to, const void *from, size_t size, int kind) {
  if (kind < HOST_TO_HOST || kind > DEFAULT) return hipErrorInvalidMemcpyDirection;
  hipError_t status = ASK(OP_SYNC, NULL, 0); /* the fault of an earlier kernel shows here */
  if (status || !size) return status;
  if (!to || !from) return hipErrorInvalidValue;
  if (kind != DEFAULT && !(fits(to, kind & 1) && fits(from, kind >> 1 & 1))) {
    shim_say("a copy of %zu bytes from %p to %p: the direction %d does not go with these addresses; "
             "device memory is at %#llx and above", size, from, to, kind, (unsigned long long)SHIM_DEVICE_BEGIN);
    return hipErrorInvalidValue;
  }
  int to_device = shim_on_device(to) && !shared(to), from_device = shim_on_device(from) && !shared(from);
  if (shared(to) && (status = ASK(OP_TOUCH, NULL, (uintptr_t)to, size))) return status;
  if (shared(from) && (status = ASK(OP_TOUCH, NULL, (uintptr_t)from, size))) return status;
  if (to_device && from_device) return ASK(OP_COPY, NULL, (uintptr_t)to, (uintptr_t)from, size);
  if (to_device) return write((uintptr_t)to, from, size);
  if (from_device) return read(to, (uintptr_t)from, size);
  memmove(to, from, size);
  return hipSuccess;
}

hipError_t shim_copy_on(hipStream_t stream, void *to, const void *from, size_t size, int kind) {
  struct shim_capture *into = shim_captured(stream);
  if (into) return shim_capture_copy(into, to, from, size, kind);
  hipError_t status = shim_enqueued(stream);
  return status ? status : shim_copy(to, from, size, kind);
}

static hipError_t copy_on(hipStream_t stream, void *to, const void *from, size_t size, int kind) {
  return shim_return(shim_copy_on(stream, to, from, size, kind));
}

API hipError_t hipMemcpy(void *to, const void *from, size_t size, int kind) {
  return shim_return(shim_copy(to, from, size, kind));
}
API hipError_t hipMemcpyAsync(void *to, const void *from, size_t size, int kind, hipStream_t stream) {
  return copy_on(stream, to, from, size, kind);
}
API hipError_t hipMemcpyWithStream(void *to, const void *from, size_t size, int kind, hipStream_t stream) {
  return copy_on(stream, to, from, size, kind);
}
API hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void *from, size_t size) {
  return hipMemcpy(to, from, size, HOST_TO_DEVICE);
}
API hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t size) {
  return hipMemcpy(to, from, size, DEVICE_TO_HOST);
}
API hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t size) {
  return hipMemcpy(to, from, size, DEVICE_TO_DEVICE);
}
API hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void *from, size_t size, hipStream_t stream) {
  return copy_on(stream, to, from, size, HOST_TO_DEVICE);
}
API hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t size, hipStream_t stream) {
  return copy_on(stream, to, from, size, DEVICE_TO_HOST);
}
API hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t size, hipStream_t stream) {
  return copy_on(stream, to, from, size, DEVICE_TO_DEVICE);
}

API hipError_t hipMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                           size_t height, int kind) {
  if (width > to_pitch || width > from_pitch) return shim_return(hipErrorInvalidPitchValue);
  for (size_t row = 0; row < height; row++) {
    hipError_t status = shim_copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind);
    if (status) return shim_return(status);
  }
  return shim_return(hipSuccess);
}
API hipError_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                size_t height, int kind, hipStream_t stream) {
  if (width > to_pitch || width > from_pitch) return shim_return(hipErrorInvalidPitchValue);
  for (size_t row = 0; row < height; row++) {
    char *there = (char *)to + row * to_pitch;
    hipError_t status = shim_copy_on(stream, there, (const char *)from + row * from_pitch, width, kind);
    if (status) return shim_return(status);
  }
  return shim_return(hipSuccess);
}

/* Fills: so many items of 1, 2 or 4 bytes. */

static hipError_t fill(void *to, uint32_t item, size_t count, int width) {
  hipError_t status = ASK(OP_SYNC, NULL, 0);
  if (status || !count) return shim_return(status);
  return shim_return(ASK(OP_FILL, NULL, (uintptr_t)to, count, (uint64_t)width, item));
}

static hipError_t fill_on(hipStream_t stream, void *to, uint32_t item, size_t count, int width) {
  struct shim_capture *into = shim_captured(stream);
  if (into) return shim_return(shim_capture_fill(into, to, item, count, width));
  hipError_t status = shim_enqueued(stream);
  return status ? shim_return(status) : fill(to, item, count, width);
}

API hipError_t hipMemset(void *to, int item, size_t size) { return fill(to, (uint8_t)item, size, 1); }
API hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char item, size_t count) {
  return fill(to, item, count, 1);
}
API hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short item, size_t count) {
  return fill(to, item, count, 2);
}
API hipError_t hipMemsetD32(hipDeviceptr_t to, int item, size_t count) {
  return fill(to, (uint32_t)item, count, 4);
}
API hipError_t hipMemsetAsync(void *to, int item, size_t size, hipStream_t stream) {
  return fill_on(stream, to, (uint8_t)item, size, 1);
}
API hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char item, size_t count, hipStream_t stream) {
  return fill_on(stream, to, item, count, 1);
}
API hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short item, size_t count, hipStream_t stream) {
  return fill_on(stream, to, item, count, 2);
}
API hipError_t hipMemsetD32Async(hipDeviceptr_t to, int item, size_t count, hipStream_t stream) {
  return fill_on(stream, to, (uint32_t)item, count, 4);
}
API hipError_t hipMemset2D(void *to, size_t pitch, int item, size_t width, size_t height) {
  for (size_t row = 0; row < height; row++) {
    hipError_t status = hipMemset((char *)to + row * pitch, item, width);
    if (status) return status;
  }
  return shim_return(hipSuccess);
}
