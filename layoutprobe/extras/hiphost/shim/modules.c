/* Modules and launches. The device says what a kernel's arguments are; they are packed here, as its
 * kernel-argument segment has them, because only this process can read what it was given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs.h"

#define BUNDLE "__CLANG_OFFLOAD_BUNDLE__"
#define COMPRESSED "CCOB"
enum { LAUNCH_END = 3, LAUNCH_POINTER = 1, LAUNCH_SIZE = 2, HEADER = 64 };

static uint64_t number(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  while (bytes--) value = value << 8 | at[bytes];
  return value;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Size of an ELF file in memory: up to the end of its tables and of what they describe. */
static uint64_t elf_size(const unsigned char *elf) {
  uint64_t programs = number(elf + 32, 8), sections = number(elf + 40, 8);
  uint64_t program_count = number(elf + 56, 2), section_count = number(elf + 60, 2);
  uint64_t size = later(HEADER, later(programs + 56 * program_count, sections + 64 * section_count));
  for (uint64_t i = 0; i < program_count; i++) {
    const unsigned char *at = elf + programs + 56 * i;
    size = later(size, number(at + 8, 8) + number(at + 32, 8));
  }
  for (uint64_t i = 0; i < section_count; i++) {
    const unsigned char *at = elf + sections + 64 * i;
    if (number(at + 4, 4) != 8) size = later(size, number(at + 24, 8) + number(at + 32, 8)); /* NOBITS */
  }
  return size;
}

/* Of a bundle: u64 count, then (u64 offset, u64 size, u64 length of name, name). */
static uint64_t bundle_size(const unsigned char *bundle) {
  const unsigned char *at = bundle + sizeof BUNDLE - 1;
  uint64_t count = number(at, 8), size = 0;
  at += 8;
  for (uint64_t i = 0; i < count; i++) {
    size = later(size, number(at, 8) + number(at + 8, 8));
    at += 24 + number(at + 16, 8);
    size = later(size, (uint64_t)(at - bundle));
  }
  return size;
}

static uint64_t image_size(const void *image) {
  if (!memcmp(image, "\177ELF", 4)) return elf_size(image);
  if (!memcmp(image, BUNDLE, sizeof BUNDLE - 1)) return bundle_size(image);
  if (!memcmp(image, COMPRESSED, 4))
    shim_say("the code object is a compressed bundle; compile with --no-offload-compress");
  return 0;
}

static hipError_t load(const void *image, uint64_t size, hipModule_t *module) {
  struct answer answer = {.capacity = 0};
  hipError_t status = shim_ask(OP_LOAD, NULL, 0, image, size, &answer);
  if (status) return status;
  hipModule_t made = calloc(1, sizeof *made);
  if (!made) return hipErrorOutOfMemory;
  made->id = answer.values[0];
  *module = made;
  return hipSuccess;
}

hipError_t shim_load(const void *image, hipModule_t *module) {
  if (!image || !module) return hipErrorInvalidValue;
  uint64_t size = image_size(image);
  return size ? load(image, size, module) : hipErrorInvalidImage;
}

API hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  return shim_return(shim_load(image, module));
}

PRETENDS("options change nothing")
hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned count, int *options,
                                   void **values) {
  (void)count, (void)options, (void)values;
  return hipModuleLoadData(module, image);
}

API hipError_t hipModuleLoadFatBinary(hipModule_t *module, const void *image) {
  return hipModuleLoadData(module, image);
}

API hipError_t hipModuleLoad(hipModule_t *module, const char *path) {
  FILE *file = path && module ? fopen(path, "rb") : NULL;
  if (!file) return shim_return(hipErrorFileNotFound);
  void *bytes = NULL;
  long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
  hipError_t status = hipErrorInvalidImage;
  if (size > 0 && !fseek(file, 0, SEEK_SET) && (bytes = malloc((size_t)size)) &&
      fread(bytes, 1, (size_t)size, file) == (size_t)size)
    status = load(bytes, (uint64_t)size, module);
  free(bytes);
  fclose(file);
  return shim_return(status);
}

void shim_unload(hipModule_t module) {
  for (struct shim_function *at = module->functions, *next; at; at = next) {
    next = at->next;
    free(at);
  }
  free(module);
}

API hipError_t hipModuleUnload(hipModule_t module) {
  if (!module) return shim_return(hipErrorInvalidValue);
  hipError_t status = ASK(OP_UNLOAD, NULL, module->id);
  shim_unload(module);
  return shim_return(status);
}

/* What is wrong with a handle that is none: without a device, that there is none goes first, as on a card. */
static hipError_t no_handle(void) {
  hipError_t status = ASK(OP_INIT, NULL, 0);
  return status ? status : hipErrorInvalidValue;
}

hipError_t shim_find(hipModule_t module, const char *name, hipFunction_t *function) {
  struct answer answer = {.capacity = 0};
  if (!module || !name || !function) return no_handle();
  uint64_t id = module->id;
  hipError_t status = shim_ask(OP_FUNCTION, &id, 1, name, strlen(name), &answer);
  if (status) return status;
  uint64_t *values = answer.values, count = (answer.count - 7) / 2;
  struct shim_function *made = calloc(1, sizeof *made + count * sizeof *made->arg);
  if (!made) return hipErrorOutOfMemory;
  made->id = values[0], made->kernarg_size = values[1], made->lds = values[2];
  made->scratch = values[3], made->vgprs = values[4], made->max_threads = values[5];
  made->dynamic_lds = values[6];
  made->args = count;
  memcpy(made->arg, values + 7, count * sizeof *made->arg);
  made->next = module->functions;
  module->functions = made;
  *function = made;
  return hipSuccess;
}

API hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  return shim_return(shim_find(module, name, function));
}

API hipError_t hipModuleGetGlobal(hipDeviceptr_t *pointer, size_t *size, hipModule_t module, const char *name) {
  struct answer answer = {.capacity = 0};
  if (!module || !name) return shim_return(no_handle());
  hipError_t status = shim_ask(OP_SYMBOL, &module->id, 1, name, strlen(name), &answer);
  if (!status && pointer) *pointer = (void *)answer.values[0];
  if (!status && size) *size = answer.values[1];
  return shim_return(status);
}

/* The caller's packed buffer: HIP_LAUNCH_PARAM_BUFFER_POINTER, p, ..._SIZE, &n, ..._END. */
static hipError_t packed(void **extra, const void **bytes, size_t *size) {
  for (; (uintptr_t)*extra != LAUNCH_END; extra += 2) {
    if ((uintptr_t)*extra == LAUNCH_POINTER) *bytes = extra[1];
    else if ((uintptr_t)*extra == LAUNCH_SIZE) *size = *(size_t *)extra[1];
    else return hipErrorInvalidValue;
  }
  return *bytes || !*size ? hipSuccess : hipErrorInvalidValue;
}

/* What a kernel has printed goes where the program prints. */
static void print(uint64_t size) {
  struct answer answer = {.into = malloc(size), .capacity = size};
  if (!answer.into || ASK(OP_PRINTED, &answer, size)) return free(answer.into);
  fwrite(answer.into, 1, answer.size, stdout);
  fflush(stdout);
  free(answer.into);
}

/* The explicit arguments as the kernel's segment has them; the caller frees them. */
hipError_t shim_pack(hipFunction_t function, void **params, void **extra, unsigned char **bytes, size_t *size) {
  const void *given = NULL;
  if (params && extra) return no_handle();
  *size = extra ? 0 : function->kernarg_size;
  hipError_t status = extra ? packed(extra, &given, size) : hipSuccess;
  if (status || (!extra && function->args && !params)) return status ? status : hipErrorInvalidValue;
  if (!(*bytes = calloc(1, *size + 1))) return hipErrorOutOfMemory;
  if (given) memcpy(*bytes, given, *size);
  for (uint64_t i = 0; !extra && i < function->args; i++)
    memcpy(*bytes + function->arg[i].offset, params[i], function->arg[i].size);
  return hipSuccess;
}

hipError_t shim_launch_packed(hipFunction_t function, dim3 grid, dim3 block, uint32_t lds, const void *bytes,
                              size_t size) {
  struct answer answer = {.capacity = 0};
  uint64_t args[] = {function->id, grid.x, grid.y, grid.z, block.x, block.y, block.z, lds};
  hipError_t status = shim_ask(OP_LAUNCH, args, sizeof args / sizeof *args, bytes, size, &answer);
  if (!status && answer.count) print(answer.values[0]);
  return status;
}

hipError_t shim_launch(hipFunction_t function, dim3 grid, dim3 block, uint32_t lds, hipStream_t stream,
                       void **params, void **extra) {
  unsigned char *bytes;
  size_t size;
  if (!function) ASK(OP_LAUNCH, NULL, 0, grid.x, grid.y, grid.z, block.x, block.y, block.z, lds); /* it counts */
  if (!function) return no_handle();
  struct shim_capture *into = shim_captured(stream);
  hipError_t status = into ? hipSuccess : shim_enqueued(stream);
  if (!status) status = shim_pack(function, params, extra, &bytes, &size);
  if (status) return status;
  status = into ? shim_capture_kernel(into, function, grid, block, lds, bytes, size)
                : shim_launch_packed(function, grid, block, lds, bytes, size);
  free(bytes);
  return status;
}

API hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds,
                                     hipStream_t stream, void **params, void **extra) {
  dim3 grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
  return shim_return(shim_launch(function, grid, block, lds, stream, params, extra));
}

/* Grid in work-items, as OpenCL counts; events may be null. */
API hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z,
                                        uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t lds,
                                        hipStream_t stream, void **params, void **extra, hipEvent_t start,
                                        hipEvent_t stop, uint32_t flags) {
  (void)flags;
  hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
  if (!block_x || !block_y || !block_z || x % block_x || y % block_y || z % block_z)
    return shim_return(hipErrorInvalidConfiguration);
  if (start) hipEventRecord(start, stream);
  dim3 grid = {x / block_x, y / block_y, z / block_z}, block = {block_x, block_y, block_z};
  hipError_t status = shim_launch(function, grid, block, (uint32_t)lds, stream, params, extra);
  if (stop) hipEventRecord(stop, stream);
  return shim_return(status);
}
