/* Memory of the program that it registers: the whole pages in which it lies become pages of the memory that both
 * sides share. So the host's addresses stay, and the device has one of its own for the same bytes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shim.h"

enum { PAGE = 4096, FRAMES = 1 << 16 };

struct range {
  struct range *next;
  char *host, *device; /* of its first byte */
  size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;

static char *page_of(char *at) { return (char *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)); }
static size_t pages(const struct range *it) {
  return ((size_t)(it->host - page_of(it->host)) + it->size + PAGE - 1) / PAGE * PAGE;
}

void *shim_device_address(const void *host) {
  void *found = NULL;
  pthread_mutex_lock(&lock);
  for (struct range *at = ranges; at && !found; at = at->next)
    if ((uintptr_t)host - (uintptr_t)at->host < at->size) found = at->device + ((const char *)host - at->host);
  pthread_mutex_unlock(&lock);
  return found;
}

static int overlaps(const struct range *one) { /* two in a page, too: it can lie in one place only */
  for (struct range *at = ranges; at; at = at->next)
    if (page_of(at->host) < page_of(one->host) + pages(one) && page_of(one->host) < page_of(at->host) + pages(at))
      return 1;
  return 0;
}

static hipError_t enter(struct range *it) {
  struct answer answer = {.capacity = 0};
  size_t lead = (size_t)(it->host - page_of(it->host));
  hipError_t status = ASK(OP_REGISTER, &answer, lead, it->size);
  if (status) return status;
  it->device = (char *)answer.values[0];
  char *shared = page_of(it->device);
  memcpy(shared, page_of(it->host), pages(it));
  if (mremap(shared, 0, pages(it), MREMAP_MAYMOVE | MREMAP_FIXED, page_of(it->host)) != MAP_FAILED) return hipSuccess;
  ASK(OP_FREE, NULL, (uintptr_t)it->device);
  shim_say("hipHostRegister: these pages of the program cannot be shared");
  return hipErrorNotSupported;
}

API hipError_t hipHostRegister(void *pointer, size_t size, unsigned flags) {
  (void)flags;
  if (!pointer || !size || shim_on_device(pointer)) return shim_return(hipErrorInvalidValue);
  char *frame = __builtin_frame_address(0);
  if (page_of(pointer) < frame + PAGE && (char *)pointer + size > frame - FRAMES) { /* ours, and what we call */
    shim_say("hipHostRegister: this is the part of the stack that is in use; register memory of malloc");
    return shim_return(hipErrorNotSupported);
  }
  struct range *made = calloc(1, sizeof *made);
  if (!made) return shim_return(hipErrorOutOfMemory);
  *made = (struct range){.host = pointer, .size = size};
  pthread_mutex_lock(&lock);
  hipError_t status = overlaps(made) ? hipErrorHostMemoryAlreadyRegistered : enter(made);
  if (!status) made->next = ranges, ranges = made;
  pthread_mutex_unlock(&lock);
  if (status) free(made);
  return shim_return(status);
}

/* The pages are the program's own again, with what is in them. */
static hipError_t leave(struct range *it) {
  size_t size = pages(it);
  char *kept = malloc(size), *host = page_of(it->host);
  if (!kept) return hipErrorOutOfMemory;
  memcpy(kept, host, size);
  int done = mmap(host, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == host;
  if (done) memcpy(host, kept, size);
  free(kept);
  return done ? ASK(OP_FREE, NULL, (uintptr_t)it->device) : hipErrorOutOfMemory;
}

API hipError_t hipHostUnregister(void *pointer) {
  hipError_t status = hipErrorHostMemoryNotRegistered;
  pthread_mutex_lock(&lock);
  for (struct range **at = &ranges; *at; at = &(*at)->next)
    if ((*at)->host == pointer) {
      struct range *gone = *at;
      *at = gone->next;
      status = leave(gone);
      free(gone);
      break;
    }
  pthread_mutex_unlock(&lock);
  return shim_return(status);
}
