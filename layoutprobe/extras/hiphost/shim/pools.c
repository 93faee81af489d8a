/* Pools: all of them are the memory of hipMalloc, from which hipMallocAsync takes, too. */
#include <stdlib.h>

#include "shim.h"

struct pool {
  int device;
  uint64_t attributes[16];
};
static struct pool common;

hipError_t hipMallocAsync(void **, size_t, hipStream_t);

PRETENDS("the one pool that there is")
hipError_t hipDeviceGetDefaultMemPool(struct pool **pool, int device) {
  (void)device;
  if (pool) *pool = &common;
  return shim_return(pool ? hipSuccess : hipErrorInvalidValue);
}
PRETENDS("the one pool that there is")
hipError_t hipDeviceGetMemPool(struct pool **pool, int device) { return hipDeviceGetDefaultMemPool(pool, device); }
PRETENDS("memory comes from where it did")
hipError_t hipDeviceSetMemPool(int device, struct pool *pool) {
  (void)device;
  return shim_return(pool ? hipSuccess : hipErrorInvalidValue);
}
PRETENDS("a pool takes its memory from hipMalloc's")
hipError_t hipMemPoolCreate(struct pool **pool, const void *properties) {
  if (!pool || !properties) return shim_return(hipErrorInvalidValue);
  *pool = calloc(1, sizeof **pool);
  return shim_return(*pool ? hipSuccess : hipErrorOutOfMemory);
}
PRETENDS("memory of the pool stays")
hipError_t hipMemPoolDestroy(struct pool *pool) {
  if (!pool || pool == &common) return shim_return(hipErrorInvalidValue);
  free(pool);
  return shim_return(hipSuccess);
}
PRETENDS("memory of hipMalloc, at once")
hipError_t hipMallocFromPoolAsync(void **pointer, size_t size, struct pool *pool, hipStream_t stream) {
  return pool ? hipMallocAsync(pointer, size, stream) : shim_return(hipErrorInvalidValue);
}
PRETENDS("nothing is kept to be trimmed")
hipError_t hipMemPoolTrimTo(struct pool *pool, size_t size) {
  (void)size;
  return shim_return(pool ? hipSuccess : hipErrorInvalidValue);
}

/* Numbers from 1 on; the first three are ints, the others of 64 bits. */
PRETENDS("kept for hipMemPoolGetAttribute, and changes nothing")
hipError_t hipMemPoolSetAttribute(struct pool *pool, int attribute, const void *value) {
  if (!pool || !value || attribute < 1 || attribute > 8) return shim_return(hipErrorInvalidValue);
  pool->attributes[attribute] = attribute <= 3 ? (uint64_t)*(const int *)value : *(const uint64_t *)value;
  return shim_return(hipSuccess);
}
PRETENDS("what was set, else 0")
hipError_t hipMemPoolGetAttribute(struct pool *pool, int attribute, void *value) {
  if (!pool || !value || attribute < 1 || attribute > 8) return shim_return(hipErrorInvalidValue);
  if (attribute <= 3) *(int *)value = (int)pool->attributes[attribute];
  else *(uint64_t *)value = pool->attributes[attribute];
  return shim_return(hipSuccess);
}
