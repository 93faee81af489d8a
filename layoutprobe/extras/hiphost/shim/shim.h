/* layoutprobe's libamdhip64: the C ABI of AMD's HIP runtime, carried to an emulated device.
 *
 * Every call that concerns the device is one message to `layoutprobe run` and one answer (wire.c).
 * What needs no device (error names, streams, events) stays here: the emulator runs each kernel to
 * its end before the launch returns, so that a stream is a list of things that are done already.
 *
 * Types and numbers are those of AMD's public hip_runtime_api.h and driver_types.h, HIP 6 and 7. */
#ifndef LAYOUTPROBE_SHIM_H
#define LAYOUTPROBE_SHIM_H

#include <stddef.h>
#include <stdint.h>

#include "ops.h" /* generated from protocol.py: OP_..., ERROR_..., VALUE_..., SHIM_... */

#define API __attribute__((visibility("default")))
#define PRETENDS(what) API /* what a function only pretends: for docs/hip.md, see interface.py */

typedef int hipError_t;
typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct shim_stream *hipStream_t;
typedef struct shim_event *hipEvent_t;
typedef struct shim_module *hipModule_t;
typedef struct shim_function *hipFunction_t;
typedef struct { uint32_t x, y, z; } dim3;

/* One kernel, as the device describes it. */
struct shim_function {
  struct shim_function *next;
  uint64_t id, kernarg_size, lds, scratch, vgprs, max_threads, dynamic_lds, args;
  struct { uint64_t offset, size; } arg[];
};

struct shim_module {
  uint64_t id;
  struct shim_function *functions;
};

/* wire.c: one request, one answer. */
struct answer {
  uint64_t values[SHIM_MAX_VALUES];
  uint32_t count;
  void *into;        /* where the answer's bytes go */
  uint64_t capacity; /* how many fit; more is an error */
  uint64_t size;     /* how many came */
};
hipError_t shim_ask(uint32_t op, const uint64_t *args, uint32_t count, const void *bytes, uint64_t size,
                    struct answer *answer);
void *shim_window(size_t *size); /* memory that the device shares with this process */
void shim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define ASK(op, answer, ...)                                                           \
  shim_ask(op, (const uint64_t[]){__VA_ARGS__},                                        \
           sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), NULL, 0, answer)

/* errors.c: every entry point returns through it, for hipGetLastError. */
hipError_t shim_return(hipError_t status);
hipError_t shim_lacks(const char *function); /* is missing: the program gets an error, and a person words */

/* device.c */
int shim_device(void);

/* memory.c */
int shim_on_device(const void *pointer);
hipError_t shim_copy_on(hipStream_t stream, void *to, const void *from, size_t size, int kind);
hipError_t shim_copy(void *to, const void *from, size_t size, int kind);

/* registered.c: what the device calls memory of the program; NULL where that is not registered. */
void *shim_device_address(const void *host);

/* streams.c: something is put on a stream; the call's requests are about it until it returns. */
hipError_t shim_enqueued(hipStream_t stream);
uint32_t shim_stream_now(void);
void shim_stream_done(void);
void shim_order(uint64_t what, uint64_t one, uint64_t other);

/* modules.c */
hipError_t shim_load(const void *image, hipModule_t *module);
void shim_unload(hipModule_t module);
hipError_t shim_find(hipModule_t module, const char *name, hipFunction_t *function);
hipError_t shim_launch(hipFunction_t function, dim3 grid, dim3 block, uint32_t lds, hipStream_t stream,
                       void **params, void **extra);

/* fatbin.c: the device's side of a host function. */
hipError_t shim_registered(const void *host, hipFunction_t *function);

#endif
