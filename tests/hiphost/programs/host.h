// The part of HIP's host interface that these programs use. Written from AMD's documentation of the
// interface, so that they need no ROCm to be compiled; they link to whatever libamdhip64 there is.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
typedef __SIZE_TYPE__ size_t;
int printf(const char *, ...);
int puts(const char *);
void exit(int);
int atoi(const char *);
char *getenv(const char *);
long read(int, void *, size_t);
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int strcmp(const char *, const char *);
#ifndef __cplusplus
#define NULL ((void *)0)
#endif

typedef int hipError_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
enum { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault };

hipError_t hipInit(unsigned);
hipError_t hipGetDeviceCount(int *);
hipError_t hipDeviceSynchronize(void);
hipError_t hipDeviceReset(void);
hipError_t hipMalloc(void **, size_t);
hipError_t hipHostMalloc(void **, size_t, unsigned);
hipError_t hipMallocManaged(void **, size_t, unsigned);
hipError_t hipFree(void *);
hipError_t hipHostFree(void *);
hipError_t hipMemcpy(void *, const void *, size_t, int);
hipError_t hipMemcpyAsync(void *, const void *, size_t, int, hipStream_t);
hipError_t hipMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipMemsetD32(void *, int, size_t);
hipError_t hipMemGetInfo(size_t *, size_t *);
hipError_t hipStreamCreate(hipStream_t *);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned);
hipError_t hipEventCreate(hipEvent_t *);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float *, hipEvent_t, hipEvent_t);
hipError_t hipModuleLoad(hipModule_t *, const char *);
hipError_t hipModuleLoadData(hipModule_t *, const void *);
hipError_t hipModuleUnload(hipModule_t);
hipError_t hipModuleGetFunction(hipFunction_t *, hipModule_t, const char *);
hipError_t hipModuleGetGlobal(void **, size_t *, hipModule_t, const char *);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, hipStream_t, void **, void **);
hipError_t hipGetLastError(void);
hipError_t hipPeekAtLastError(void);
const char *hipGetErrorName(hipError_t);
const char *hipGetErrorString(hipError_t);
hipError_t hipMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
hipError_t hipMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
#ifdef __cplusplus
}
#endif

#define CHECK(call)                                                                      \
  do {                                                                                   \
    hipError_t status_ = (call);                                                         \
    if (status_) {                                                                       \
      printf("%s: %s\n", #call, hipGetErrorName(status_));                               \
      exit(3);                                                                           \
    }                                                                                    \
  } while (0)
#define EXPECT(what)                                                                     \
  do {                                                                                   \
    if (!(what)) {                                                                       \
      printf("line %d: not so: %s\n", __LINE__, #what);                                  \
      exit(4);                                                                           \
    }                                                                                    \
  } while (0)
