/* Error codes, and the last one of each thread. */
#include <string.h>

#include "shim.h"

static __thread hipError_t last;

static const struct { hipError_t status; const char *name, *words; } errors[] = {
#define ERROR(name, number, words) {number, #name, words},
    SHIM_ERRORS(ERROR)
#undef ERROR
};

hipError_t shim_return(hipError_t status) {
  shim_stream_done();
  if (status != hipSuccess && status != hipErrorNotReady) last = status;
  return status;
}

hipError_t shim_lacks(const char *function) {
  return shim_return(shim_ask(OP_LACKS, NULL, 0, function, strlen(function), NULL));
}

API hipError_t hipGetLastError(void) {
  hipError_t status = last;
  last = hipSuccess;
  return status;
}

API hipError_t hipExtGetLastError(void) { return hipGetLastError(); }

API hipError_t hipPeekAtLastError(void) { return last; }

static int find(hipError_t status) {
  for (int i = 0; i < (int)(sizeof errors / sizeof *errors); i++)
    if (errors[i].status == status) return i;
  return -1;
}

API const char *hipGetErrorName(hipError_t status) {
  int at = find(status);
  return at < 0 ? "hipErrorUnknown" : errors[at].name;
}

API const char *hipGetErrorString(hipError_t status) {
  int at = find(status);
  return at < 0 ? "unknown error" : errors[at].words;
}

API hipError_t hipDrvGetErrorName(hipError_t status, const char **name) {
  *name = find(status) < 0 ? NULL : hipGetErrorName(status);
  return *name ? hipSuccess : hipErrorInvalidValue;
}

API hipError_t hipDrvGetErrorString(hipError_t status, const char **words) {
  *words = find(status) < 0 ? NULL : hipGetErrorString(status);
  return *words ? hipSuccess : hipErrorInvalidValue;
}
