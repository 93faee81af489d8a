/* Memory in rows and layers: allocated, copied and filled row by row. */
#include "pitched.h"
#include "shim.h"

hipError_t hipMallocPitch(void **, size_t *, size_t, size_t);
hipError_t hipMemset2D(void *, size_t, int, size_t, size_t);

API hipError_t hipMalloc3D(struct pitched *made, struct extent extent) {
  if (!made) return shim_return(hipErrorInvalidValue);
  made->width = extent.width, made->height = extent.height;
  return hipMallocPitch(&made->pointer, &made->pitch, extent.width, extent.height * extent.depth);
}
API hipError_t hipMemAllocPitch(void **pointer, size_t *pitch, size_t width, size_t height, unsigned item) {
  return item ? hipMallocPitch(pointer, pitch, width, height) : shim_return(hipErrorInvalidValue);
}

static char *row_at(const struct pitched *memory, const struct position *at, size_t row, size_t layer) {
  return (char *)memory->pointer + ((at->z + layer) * memory->height + at->y + row) * memory->pitch + at->x;
}

static hipError_t copy(const struct copy *it) {
  if (!it) return hipErrorInvalidValue;
  if (it->from_array || it->to_array) {
    shim_say("hipMemcpy3D: there are no arrays; use memory of hipMalloc3D");
    return hipErrorNotSupported;
  }
  if (it->from_at.x + it->extent.width > it->from.pitch || it->to_at.x + it->extent.width > it->to.pitch)
    return hipErrorInvalidPitchValue;
  for (size_t layer = 0; layer < it->extent.depth; layer++)
    for (size_t row = 0; row < it->extent.height; row++) {
      hipError_t status = shim_copy(row_at(&it->to, &it->to_at, row, layer),
                                    row_at(&it->from, &it->from_at, row, layer), it->extent.width, it->kind);
      if (status) return status;
    }
  return hipSuccess;
}

API hipError_t hipMemcpy3D(const struct copy *it) { return shim_return(copy(it)); }
API hipError_t hipMemcpy3DAsync(const struct copy *it, hipStream_t stream) {
  hipError_t status = shim_enqueued(stream);
  return shim_return(status ? status : copy(it));
}

API hipError_t hipMemset2DAsync(void *to, size_t pitch, int item, size_t width, size_t height, hipStream_t stream) {
  hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t);
  for (size_t row = 0; row < height; row++) {
    hipError_t status = hipMemsetAsync((char *)to + row * pitch, item, width, stream);
    if (status) return status;
  }
  return shim_return(hipSuccess);
}
API hipError_t hipMemset3D(struct pitched to, int item, struct extent extent) {
  for (size_t layer = 0; layer < extent.depth; layer++) {
    char *from = (char *)to.pointer + layer * to.height * to.pitch;
    hipError_t status = hipMemset2D(from, to.pitch, item, extent.width, extent.height);
    if (status) return status;
  }
  return shim_return(hipSuccess);
}
API hipError_t hipMemset3DAsync(struct pitched to, int item, struct extent extent, hipStream_t stream) {
  for (size_t layer = 0; layer < extent.depth; layer++) {
    char *from = (char *)to.pointer + layer * to.height * to.pitch;
    hipError_t status = hipMemset2DAsync(from, to.pitch, item, extent.width, extent.height, stream);
    if (status) return status;
  }
  return shim_return(hipSuccess);
}
