/* What a program may ask about a kernel: attributes and occupancy. */
#include "shim.h"

/* hipFunction_attribute */
API hipError_t hipFuncGetAttribute(int *value, int attribute, hipFunction_t function) {
  if (!value || !function) return shim_return(hipErrorInvalidValue);
  switch (attribute) {
  case 0: *value = (int)function->max_threads; break;
  case 1: *value = (int)function->lds; break;
  case 3: *value = (int)function->scratch; break;
  case 4: *value = (int)function->vgprs; break;
  case 8: *value = (int)function->dynamic_lds; break;
  case 2: case 5: case 6: case 7: case 9: *value = 0; break;
  default: return shim_return(hipErrorInvalidValue);
  }
  return shim_return(hipSuccess);
}

struct attributes { /* hipFuncAttributes */
  int binary_version, cache_mode;
  size_t constants, scratch;
  int max_dynamic_lds, max_threads, registers, carveout, ptx_version;
  size_t lds;
};

API hipError_t hipFuncGetAttributes(struct attributes *to, const void *host) {
  hipFunction_t function;
  if (!to) return shim_return(hipErrorInvalidValue);
  hipError_t status = shim_registered(host, &function);
  if (status) return shim_return(status);
  *to = (struct attributes){.scratch = function->scratch, .max_dynamic_lds = (int)function->dynamic_lds,
                            .max_threads = (int)function->max_threads, .registers = (int)function->vgprs,
                            .lds = function->lds};
  return shim_return(hipSuccess);
}

PRETENDS("every kernel may use all LDS already")
hipError_t hipFuncSetAttribute(const void *host, int attribute, int value) {
  (void)host, (void)attribute, (void)value;
  return shim_return(hipSuccess);
}
PRETENDS("there is no cache") hipError_t hipFuncSetCacheConfig(const void *host, int config) {
  (void)host, (void)config;
  return shim_return(hipSuccess);
}
PRETENDS("banks are as they are")
hipError_t hipFuncSetSharedMemConfig(const void *host, int config) {
  (void)host, (void)config;
  return shim_return(hipSuccess);
}

static hipError_t blocks(int *count, hipFunction_t function, int threads, size_t lds) {
  struct answer answer = {.capacity = 0};
  if (!count || !function || threads <= 0) return hipErrorInvalidValue;
  hipError_t status = ASK(OP_OCCUPANCY, &answer, function->id, (uint64_t)threads, lds);
  *count = status ? 0 : (int)answer.values[0];
  return status;
}

API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *count, hipFunction_t function,
                                                                  int threads, size_t lds) {
  return shim_return(blocks(count, function, threads, lds));
}

API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *count, const void *host, int threads,
                                                            size_t lds) {
  hipFunction_t function;
  hipError_t status = shim_registered(host, &function);
  return shim_return(status ? status : blocks(count, function, threads, lds));
}

PRETENDS("flags change nothing")
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *host,
                                                                     int threads, size_t lds, unsigned flags) {
  (void)flags;
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(count, host, threads, lds);
}

/* The block with which a unit holds most work-items, and as many as fit on all units. */
static hipError_t best(int *grid, int *threads, hipFunction_t function, size_t lds, int limit) {
  hipError_t hipDeviceGetAttribute(int *number, int attribute, int device);
  enum { UNITS = 63 };
  int units;
  struct answer answer = {.capacity = 0};
  hipError_t status = ASK(OP_BEST_BLOCK, &answer, function->id, lds, (uint64_t)(limit > 0 ? limit : 0));
  if (!status) status = hipDeviceGetAttribute(&units, UNITS, shim_device());
  if (status) return status;
  *grid = (int)answer.values[0] * units;
  *threads = (int)answer.values[1];
  return hipSuccess;
}

API hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *threads, hipFunction_t function,
                                                       size_t lds, int limit) {
  if (!grid || !threads || !function) return shim_return(hipErrorInvalidValue);
  return shim_return(best(grid, threads, function, lds, limit));
}

API hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *threads, const void *host, size_t lds,
                                                 int limit) {
  hipFunction_t function;
  if (!grid || !threads) return shim_return(hipErrorInvalidValue);
  hipError_t status = shim_registered(host, &function);
  return shim_return(status ? status : best(grid, threads, function, lds, limit));
}
