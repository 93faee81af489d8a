/* Devices: how many, which one, what they are. */
#include <stdio.h>
#include <string.h>

#include "shim.h"

static __thread int current;

int shim_device(void) { return current; }

/* What the device says about itself: numbers by VALUE_..., then its name and target. */
struct description {
  struct answer numbers;
  char name[256], target[256];
};

static hipError_t describe(int device, struct description *it) {
  memset(it, 0, sizeof *it);
  it->numbers.into = it->name; /* and the target behind it */
  it->numbers.capacity = sizeof it->name + sizeof it->target;
  return ASK(OP_DESCRIBE, &it->numbers, (uint64_t)device);
}

API hipError_t hipInit(unsigned flags) {
  return shim_return(flags ? hipErrorInvalidValue : ASK(OP_INIT, NULL, 0));
}

static hipError_t version(uint32_t index, int *number) {
  struct answer answer = {.capacity = 0};
  if (!number) return hipErrorInvalidValue;
  hipError_t status = ASK(OP_VERSION, &answer, 0);
  *number = status ? 0 : (int)answer.values[index];
  return status;
}

API hipError_t hipRuntimeGetVersion(int *number) { return shim_return(version(0, number)); }
API hipError_t hipDriverGetVersion(int *number) { return shim_return(version(1, number)); }

API hipError_t hipGetDeviceCount(int *count) {
  struct answer answer = {.capacity = 0};
  if (!count) return shim_return(hipErrorInvalidValue);
  hipError_t status = ASK(OP_COUNT, &answer, 0);
  *count = status ? 0 : (int)answer.values[0];
  return shim_return(status ? status : *count ? hipSuccess : hipErrorNoDevice);
}

static hipError_t check(int device) {
  int count;
  hipError_t status = hipGetDeviceCount(&count);
  if (status) return status;
  return device >= 0 && device < count ? hipSuccess : hipErrorInvalidDevice;
}

API hipError_t hipGetDevice(int *device) {
  if (!device) return shim_return(hipErrorInvalidValue);
  *device = current;
  return shim_return(check(current));
}

API hipError_t hipSetDevice(int device) {
  hipError_t status = check(device);
  if (!status) current = device;
  return shim_return(status);
}

/* Fields of the two generations of hipDeviceProp_t: byte offset, size, and which number goes there.
 * R0600: HIP 6 and 7, 1472 bytes. R0000: HIP 5 and before, under the plain name. */
struct field { uint16_t offset; uint8_t size, value; };

static const struct field fields_R0600[] = {
    {288, 8, VALUE_MEMORY},        {296, 8, VALUE_LDS},         {304, 4, VALUE_REGISTERS},
    {308, 4, VALUE_WARP},          {312, 8, VALUE_PITCH},       {320, 4, VALUE_THREADS},
    {324, 4, VALUE_THREADS},       {328, 4, VALUE_THREADS},     {332, 4, VALUE_THREADS},
    {336, 4, VALUE_GRID},          {340, 4, VALUE_GRID_YZ},     {344, 4, VALUE_GRID_YZ},
    {348, 4, VALUE_CLOCK},         {352, 8, VALUE_MEMORY},      {360, 4, VALUE_MAJOR},
    {364, 4, VALUE_MINOR},         {368, 8, VALUE_ALIGNMENT},   {388, 4, VALUE_UNITS},
    {400, 4, VALUE_ONE},           {576, 4, VALUE_ONE},         {604, 4, VALUE_ONE},
    {624, 4, VALUE_UNIT_THREADS},  {640, 8, VALUE_UNIT_LDS},    {648, 4, VALUE_REGISTERS},
    {652, 4, VALUE_ONE},           {676, 4, VALUE_ONE},         {688, 4, VALUE_ONE},
    {696, 8, VALUE_LDS},
    {1416, 8, VALUE_UNIT_LDS},
};
static const struct field fields_R0000[] = {
    {256, 8, VALUE_MEMORY},  {264, 8, VALUE_LDS},      {272, 4, VALUE_REGISTERS}, {276, 4, VALUE_WARP},
    {280, 4, VALUE_THREADS}, {284, 4, VALUE_THREADS},  {288, 4, VALUE_THREADS},   {292, 4, VALUE_THREADS},
    {296, 4, VALUE_GRID},    {300, 4, VALUE_GRID_YZ},  {304, 4, VALUE_GRID_YZ},   {308, 4, VALUE_CLOCK},
    {320, 8, VALUE_MEMORY},  {328, 4, VALUE_MAJOR},    {332, 4, VALUE_MINOR},     {336, 4, VALUE_UNITS},
    {344, 4, VALUE_UNIT_THREADS}, {360, 4, VALUE_ONE},     {376, 8, VALUE_UNIT_LDS}, {388, 4, VALUE_ONE},
    {656, 4, VALUE_ONE},     {712, 8, VALUE_PITCH},   {720, 8, VALUE_ALIGNMENT}, {772, 4, VALUE_ONE},       {780, 4, VALUE_ONE},
};
enum { SIZE_R0600 = 1472, TARGET_R0600 = 1160, SIZE_R0000 = 792, TARGET_R0000 = 396 };

static hipError_t properties(void *to, size_t size, size_t target, const struct field *fields, size_t count,
                             int device) {
  struct description it;
  if (!to) return hipErrorInvalidValue;
  hipError_t status = describe(device, &it);
  if (status) return status;
  memset(to, 0, size);
  memcpy(to, it.name, sizeof it.name);
  memcpy((char *)to + target, it.target, sizeof it.target);
  for (size_t i = 0; i < count; i++) /* little-endian: the low bytes come first */
    memcpy((char *)to + fields[i].offset, &it.numbers.values[fields[i].value], fields[i].size);
  return hipSuccess;
}

#define PROPERTIES(generation)                                                                    \
  properties(to, SIZE_##generation, TARGET_##generation, fields_##generation,                     \
             sizeof fields_##generation / sizeof *fields_##generation, device)

API hipError_t hipGetDevicePropertiesR0600(void *to, int device) {
  return shim_return(PROPERTIES(R0600));
}

API hipError_t hipGetDevicePropertiesR0000(void *to, int device) {
  return shim_return(PROPERTIES(R0000));
}

API hipError_t hipGetDeviceProperties(void *to, int device) { return hipGetDevicePropertiesR0000(to, device); }

/* hipDeviceAttribute_t of HIP 5.0 and later -> the same numbers. */
static const struct { uint16_t attribute; uint8_t value; } attributes[] = {
    {3, VALUE_ONE} /* CanMapHostMemory */,     {5, VALUE_CLOCK},
    {8, VALUE_ONE} /* ConcurrentKernels */,    {6, VALUE_ZERO} /* ComputeMode */,
    {9, VALUE_ONE} /* ConcurrentManaged */,    {10, VALUE_ONE} /* CooperativeLaunch */,
    {16, VALUE_ZERO} /* Integrated */,         {23, VALUE_MAJOR},
    {24, VALUE_ONE} /* ManagedMemory */,       {26, VALUE_THREADS},
    {27, VALUE_THREADS},                       {28, VALUE_THREADS},
    {29, VALUE_GRID},                          {30, VALUE_GRID_YZ},
    {31, VALUE_GRID_YZ},                       {56, VALUE_THREADS},
    {57, VALUE_UNIT_THREADS},                  {58, VALUE_PITCH},
    {60, VALUE_ZERO} /* MemoryClockRate */,    {61, VALUE_MINOR},
    {63, VALUE_UNITS},                         {65, VALUE_ZERO} /* PageableMemoryAccess */,
    {67, VALUE_ZERO} /* PciBusId */,           {68, VALUE_ZERO} /* PciDeviceId */,
    {71, VALUE_REGISTERS},                     {72, VALUE_REGISTERS},
    {74, VALUE_LDS},                           {75, VALUE_LDS},
    {76, VALUE_UNIT_LDS},                      {78, VALUE_ZERO} /* StreamPriorities */,
    {81, VALUE_ALIGNMENT},                     {83, VALUE_PITCH} /* TotalConstantMemory */,
    {84, VALUE_MEMORY},                        {85, VALUE_ONE} /* UnifiedAddressing */,
    {87, VALUE_WARP},                          {88, VALUE_ONE} /* MemoryPools */,
    {89, VALUE_ZERO} /* VirtualMemory */,      {90, VALUE_ONE} /* HostRegister */,
    {10002, VALUE_UNIT_LDS},                   {10015, VALUE_UNITS},
    {10017, VALUE_CLOCK},
};

enum { ATTRIBUTES = 94, AMD_ATTRIBUTES = 10020 }; /* the ends of both parts of the enumeration */

API hipError_t hipDeviceGetAttribute(int *number, int attribute, int device) {
  struct description it;
  if (!number) return shim_return(hipErrorInvalidValue);
  hipError_t status = describe(device, &it);
  if (status) return shim_return(status);
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
    if (attributes[i].attribute == attribute) {
      uint64_t value = it.numbers.values[attributes[i].value];
      *number = value > INT32_MAX ? INT32_MAX : (int)value;
      return shim_return(hipSuccess);
    }
  if ((attribute >= 0 && attribute < ATTRIBUTES) || (attribute >= 10000 && attribute < AMD_ATTRIBUTES)) {
    *number = 0; /* as the field of the properties is */
    return shim_return(hipSuccess);
  }
  shim_say("device attribute %d is not known to the emulator", attribute);
  return shim_return(hipErrorNotSupported);
}

API hipError_t hipDeviceGet(hipDevice_t *handle, int ordinal) {
  hipError_t status = check(ordinal);
  if (!status) *handle = ordinal;
  return shim_return(status);
}

API hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device) {
  struct description it;
  if (!name || length <= 0) return shim_return(hipErrorInvalidValue);
  hipError_t status = describe(device, &it);
  if (!status) snprintf(name, (size_t)length, "%s", it.name);
  return shim_return(status);
}

API hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device) {
  struct description it;
  hipError_t status = describe(device, &it);
  if (!status) *bytes = it.numbers.values[VALUE_MEMORY];
  return shim_return(status);
}

API hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device) {
  struct description it;
  hipError_t status = describe(device, &it);
  if (!status) {
    *major = (int)it.numbers.values[VALUE_MAJOR];
    *minor = (int)it.numbers.values[VALUE_MINOR];
  }
  return shim_return(status);
}

PRETENDS("an address made up from the number of the device")
hipError_t hipDeviceGetPCIBusId(char *id, int length, int device) {
  hipError_t status = check(device);
  if (!status) snprintf(id, (size_t)length, "0000:%02x:00.0", device);
  return shim_return(status);
}

API hipError_t hipDeviceSynchronize(void) {
  shim_order(ORDER_WAIT_ALL, 0, 0);
  return shim_return(ASK(OP_SYNC, NULL, 0));
}
API hipError_t hipDeviceReset(void) { return shim_return(ASK(OP_RESET, NULL, 0)); }

PRETENDS("flags change nothing")
hipError_t hipSetDeviceFlags(unsigned flags) { (void)flags; return shim_return(hipSuccess); }
PRETENDS("always 0") hipError_t hipGetDeviceFlags(unsigned *flags) { *flags = 0; return shim_return(hipSuccess); }
PRETENDS("there is no cache") hipError_t hipDeviceSetCacheConfig(int config) { (void)config; return shim_return(hipSuccess); }
PRETENDS("nothing is recorded")
hipError_t hipProfilerStart(void) { return shim_return(hipSuccess); }
PRETENDS("nothing is recorded")
hipError_t hipProfilerStop(void) { return shim_return(hipSuccess); }
PRETENDS("always none preferred: there is no cache")
hipError_t hipDeviceGetCacheConfig(int *config) { *config = 0; return shim_return(hipSuccess); }

enum { STACK, PRINTF, HEAP, LIMITS };
static size_t limits[LIMITS] = {[STACK] = 1024, [PRINTF] = 1 << 20};

PRETENDS("a stack of that size for kernels whose stack the compiler does not know; the printf buffer has 1 MiB, and there is no heap")
hipError_t hipDeviceSetLimit(int limit, size_t value) {
  if (limit < 0 || limit >= LIMITS) return shim_return(hipErrorInvalidValue);
  if (limit != STACK) return shim_return(hipSuccess);
  hipError_t status = ASK(OP_STACK, NULL, value);
  if (!status) limits[STACK] = value;
  return shim_return(status);
}
PRETENDS("the stack's as it was set, else 1 KiB; a printf buffer of 1 MiB, no heap")
hipError_t hipDeviceGetLimit(size_t *value, int limit) {
  if (!value || limit < 0 || limit > 2) return shim_return(hipErrorInvalidValue);
  *value = limits[limit];
  return shim_return(hipSuccess);
}
PRETENDS("banks are as they are")
hipError_t hipDeviceSetSharedMemConfig(int config) { (void)config; return shim_return(hipSuccess); }
PRETENDS("always banks of four bytes")
hipError_t hipDeviceGetSharedMemConfig(int *config) { *config = 1; return shim_return(hipSuccess); }

PRETENDS("a number made up from that of the device")
hipError_t hipDeviceGetUuid(char *id, hipDevice_t device) {
  hipError_t status = check(device);
  if (!status) memset(id, 0, 16), memcpy(id, "layoutprobe", 11), id[15] = (char)device;
  return shim_return(status);
}
PRETENDS("the first device, whatever is wanted")
hipError_t hipChooseDeviceR0600(int *device, const void *wanted) {
  if (!device || !wanted) return shim_return(hipErrorInvalidValue);
  *device = 0;
  return shim_return(check(0));
}
PRETENDS("the first device, whatever is wanted")
hipError_t hipChooseDevice(int *device, const void *wanted) { return hipChooseDeviceR0600(device, wanted); }

API hipError_t hipDeviceGetByPCIBusId(int *device, const char *id) {
  unsigned domain, bus;
  int count;
  if (!device || !id || sscanf(id, "%x:%x", &domain, &bus) != 2) return shim_return(hipErrorInvalidValue);
  hipError_t status = hipGetDeviceCount(&count);
  if (status || bus >= (unsigned)count) return shim_return(status ? status : hipErrorInvalidDevice);
  *device = (int)bus;
  return shim_return(hipSuccess);
}

PRETENDS("one priority") hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return shim_return(hipSuccess);
}

PRETENDS("never: each device is alone")
hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) {
  (void)device, (void)peer;
  *can = 0;
  return shim_return(hipSuccess);
}

/* Contexts are deprecated in HIP; programs that came from the CUDA driver API make one. */
PRETENDS("a context is the device's own")
hipError_t hipCtxCreate(void **context, unsigned flags, hipDevice_t device) {
  (void)flags;
  hipError_t status = hipSetDevice(device);
  if (!status) *context = &current;
  return shim_return(status);
}
PRETENDS("a context is the device's own")
hipError_t hipCtxDestroy(void *context) { (void)context; return shim_return(hipSuccess); }
PRETENDS("changes nothing") hipError_t hipCtxSetCurrent(void *context) { (void)context; return shim_return(hipSuccess); }
PRETENDS("the one context that there is")
hipError_t hipCtxGetCurrent(void **context) { *context = &current; return shim_return(hipSuccess); }
API hipError_t hipCtxSynchronize(void) { return hipDeviceSynchronize(); }
PRETENDS("a context is the device's own")
hipError_t hipDevicePrimaryCtxRetain(void **context, hipDevice_t device) {
  return hipCtxCreate(context, 0, device);
}
PRETENDS("a context is the device's own")
hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) { (void)device; return shim_return(hipSuccess); }
