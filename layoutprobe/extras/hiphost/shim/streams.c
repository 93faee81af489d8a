/* Streams and events. Work is done when the launch returns, so that they only keep what a program
 * may ask of them. A stream on which something was put says once that it is not ready: a program
 * that polls is made to poll. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "graphs.h"

struct shim_stream {
  struct shim_stream *next;
  unsigned flags;
  int priority, device, pending;
  uint32_t number; /* as the device calls it; 0: the null stream */
  struct shim_capture capture;
  struct shim_stream *origin; /* where the capture began */
};
struct shim_event {
  struct shim_event *next;
  unsigned flags;
  int recorded;
  uint32_t number;
  struct shim_capture capture; /* recorded on a stream that is captured: what was to be done by then */
  struct shim_stream *origin;
  double at;
};

enum { DISABLE_TIMING = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shim_stream *streams;
static struct shim_event *events;
static struct shim_stream null_stream;
static uint32_t streams_made, events_made;
static __thread uint32_t on = SHIM_WAITS; /* the stream of the call that is being made */

uint32_t shim_stream_now(void) { return on; }
void shim_stream_done(void) { on = SHIM_WAITS; }

/* The device wants to know the order of work where there is more than one stream. */
void shim_order(uint64_t what, uint64_t one, uint64_t other) {
  if (streams_made) ASK(OP_ORDER, NULL, what, one, other);
}

/* The null stream, the legacy one and the thread's own are one. NULL: no such stream. */
static struct shim_stream *known(hipStream_t stream) {
  if ((uintptr_t)stream <= 2) return &null_stream;
  pthread_mutex_lock(&lock);
  struct shim_stream *at = streams;
  while (at && at != stream) at = at->next;
  pthread_mutex_unlock(&lock);
  return at;
}

static struct shim_event *known_event(hipEvent_t event) {
  pthread_mutex_lock(&lock);
  struct shim_event *at = events;
  while (at && at != event) at = at->next;
  pthread_mutex_unlock(&lock);
  return at;
}

struct shim_capture *shim_captured(hipStream_t stream) {
  struct shim_stream *at = known(stream);
  return at && at->capture.graph ? &at->capture : NULL;
}

static hipError_t unsupported(void) {
  shim_say("a stream that is captured cannot do this");
  return hipErrorStreamCaptureUnsupported;
}

void shim_stream_on(uint32_t number) { on = number; }

uint32_t shim_new_event(void) {
  pthread_mutex_lock(&lock);
  uint32_t number = ++events_made;
  pthread_mutex_unlock(&lock);
  return number;
}

uint32_t shim_new_stream(void) { /* that the program does not see */
  pthread_mutex_lock(&lock);
  uint32_t number = ++streams_made;
  pthread_mutex_unlock(&lock);
  shim_order(ORDER_CREATE, number, 1);
  return number;
}

hipError_t shim_enqueued(hipStream_t stream) {
  struct shim_stream *at = known(stream);
  if (!at) return hipErrorInvalidHandle;
  if (at->capture.graph) return unsupported();
  at->pending = 1;
  on = at->number;
  return hipSuccess;
}

PRETENDS("priorities change nothing")
hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority) {
  if (!stream || flags > 1) return shim_return(hipErrorInvalidValue);
  hipError_t status = ASK(OP_INIT, NULL, 0);
  if (status) return shim_return(status);
  struct shim_stream *made = calloc(1, sizeof *made);
  if (!made) return shim_return(hipErrorOutOfMemory);
  made->flags = flags;
  made->priority = priority;
  made->device = shim_device();
  pthread_mutex_lock(&lock);
  made->next = streams;
  streams = made;
  made->number = ++streams_made;
  pthread_mutex_unlock(&lock);
  shim_order(ORDER_CREATE, made->number, flags);
  *stream = made;
  return shim_return(hipSuccess);
}

API hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
  return hipStreamCreateWithPriority(stream, flags, 0);
}
API hipError_t hipStreamCreate(hipStream_t *stream) { return hipStreamCreateWithPriority(stream, 0, 0); }

API hipError_t hipStreamSynchronize(hipStream_t stream) {
  struct shim_stream *at = known(stream);
  if (!at) return shim_return(hipErrorInvalidHandle);
  if (at->capture.graph) return shim_return(unsupported());
  shim_order(ORDER_WAIT_STREAM, at->number, 0);
  hipError_t status = ASK(OP_SYNC, NULL, 0);
  at->pending = 0;
  return shim_return(status);
}

API hipError_t hipStreamDestroy(hipStream_t stream) {
  struct shim_stream *made = known(stream);
  if (!made || made == &null_stream) return shim_return(hipErrorInvalidHandle);
  pthread_mutex_lock(&lock);
  for (struct shim_stream **at = &streams; *at; at = &(*at)->next)
    if (*at == made) {
      *at = made->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  free(made);
  return shim_return(hipSuccess);
}

API hipError_t hipStreamQuery(hipStream_t stream) {
  struct shim_stream *at = known(stream);
  if (!at) return shim_return(hipErrorInvalidHandle);
  hipError_t status = ASK(OP_QUERY, NULL, 0);
  if (status) return shim_return(status);
  int pending = at->pending;
  at->pending = 0;
  if (!pending) shim_order(ORDER_WAIT_STREAM, at->number, 0);
  return shim_return(pending ? hipErrorNotReady : hipSuccess);
}

/* A stream that waits for an event of a capture is captured, too. */
static hipError_t join(struct shim_stream *stream, const struct shim_event *event) {
  struct shim_stream *origin = known(event->origin);
  if (!origin || origin->capture.graph != event->capture.graph) return unsupported(); /* the capture has ended */
  if (stream->capture.graph && stream->origin != event->origin) return unsupported();
  stream->capture.graph = event->capture.graph;
  stream->origin = event->origin;
  for (size_t i = 0; i < event->capture.last.count; i++)
    if (!shim_nodes_add(&stream->capture.last, event->capture.last.at[i])) return hipErrorOutOfMemory;
  return hipSuccess;
}

API hipError_t hipStreamBeginCapture(hipStream_t stream, int mode) {
  struct shim_stream *at = known(stream);
  if (!at || at == &null_stream) return shim_return(at ? hipErrorStreamCaptureUnsupported : hipErrorInvalidHandle);
  if (mode < 0 || mode > 2 || at->capture.graph) return shim_return(hipErrorInvalidValue);
  at->capture.graph = shim_graph_new();
  at->origin = at;
  return shim_return(at->capture.graph ? hipSuccess : hipErrorOutOfMemory);
}

API hipError_t hipStreamEndCapture(hipStream_t stream, struct shim_graph **graph) {
  struct shim_stream *origin = known(stream);
  if (!origin || !graph) return shim_return(hipErrorInvalidValue);
  *graph = NULL;
  if (!origin->capture.graph || origin->origin != origin) return shim_return(hipErrorStreamCaptureUnmatched);
  struct shim_graph *made = origin->capture.graph;
  int joined = shim_graph_joined(made, &origin->capture.last);
  pthread_mutex_lock(&lock);
  for (struct shim_stream *at = streams; at; at = at->next)
    if (at->origin == origin) {
      shim_nodes_clear(&at->capture.last);
      at->capture.graph = NULL, at->origin = NULL;
    }
  pthread_mutex_unlock(&lock);
  if (joined) *graph = made;
  else shim_graph_free(made);
  return shim_return(joined ? hipSuccess : hipErrorStreamCaptureUnjoined);
}

API hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  (void)flags;
  struct shim_stream *at = known(stream);
  struct shim_event *on_event = known_event(event);
  if (!at || !on_event) return shim_return(hipErrorInvalidHandle);
  if (on_event->capture.graph) return shim_return(join(at, on_event));
  if (at->capture.graph) return shim_return(unsupported()); /* work outside of the capture */
  if (on_event->recorded) shim_order(ORDER_STREAM_EVENT, at->number, on_event->number);
  return shim_return(hipSuccess);
}

API hipError_t hipStreamGetFlags(hipStream_t stream, unsigned *flags) {
  struct shim_stream *at = known(stream);
  if (at) *flags = at->flags;
  return shim_return(at ? hipSuccess : hipErrorInvalidHandle);
}

API hipError_t hipStreamGetPriority(hipStream_t stream, int *priority) {
  struct shim_stream *at = known(stream);
  if (at) *priority = at->priority;
  return shim_return(at ? hipSuccess : hipErrorInvalidHandle);
}

API hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t *device) {
  struct shim_stream *at = known(stream);
  if (at) *device = at == &null_stream ? shim_device() : at->device;
  return shim_return(at ? hipSuccess : hipErrorInvalidHandle);
}

API hipError_t hipStreamIsCapturing(hipStream_t stream, int *status) {
  struct shim_stream *at = known(stream);
  *status = at && at->capture.graph;
  return shim_return(at ? hipSuccess : hipErrorInvalidHandle);
}

API hipError_t hipStreamAddCallback(hipStream_t stream, void (*call)(hipStream_t, hipError_t, void *),
                                    void *data, unsigned flags) {
  if (flags || !call) return shim_return(hipErrorInvalidValue);
  if (!known(stream)) return shim_return(hipErrorInvalidHandle);
  if (shim_captured(stream)) return shim_return(unsupported());
  call(stream, ASK(OP_SYNC, NULL, 0), data);
  return shim_return(hipSuccess);
}

API hipError_t hipLaunchHostFunc(hipStream_t stream, void (*call)(void *), void *data) {
  if (!call) return shim_return(hipErrorInvalidValue);
  if (!known(stream)) return shim_return(hipErrorInvalidHandle);
  struct shim_capture *into = shim_captured(stream);
  if (into) return shim_return(shim_capture_call(into, call, data));
  call(data);
  return shim_return(hipSuccess);
}

API hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  if (!event) return shim_return(hipErrorInvalidValue);
  struct shim_event *made = calloc(1, sizeof *made);
  if (!made) return shim_return(hipErrorOutOfMemory);
  made->flags = flags;
  pthread_mutex_lock(&lock);
  made->next = events;
  made->number = ++events_made;
  events = made;
  pthread_mutex_unlock(&lock);
  *event = made;
  return shim_return(hipSuccess);
}

API hipError_t hipEventCreate(hipEvent_t *event) { return hipEventCreateWithFlags(event, 0); }

API hipError_t hipEventDestroy(hipEvent_t event) {
  struct shim_event *made = known_event(event);
  if (!made) return shim_return(hipErrorInvalidHandle);
  pthread_mutex_lock(&lock);
  for (struct shim_event **at = &events; *at; at = &(*at)->next)
    if (*at == made) {
      *at = made->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  free(made);
  return shim_return(hipSuccess);
}

API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  struct shim_event *at = known_event(event);
  struct shim_stream *after = known(stream);
  if (!at || !after) return shim_return(hipErrorInvalidHandle);
  shim_nodes_clear(&at->capture.last);
  at->capture.graph = after->capture.graph;
  at->origin = after->origin;
  for (size_t i = 0; i < after->capture.last.count; i++)
    if (!shim_nodes_add(&at->capture.last, after->capture.last.at[i])) return shim_return(hipErrorOutOfMemory);
  if (after->capture.graph) return shim_return(hipSuccess);
  shim_order(ORDER_RECORD, after->number, at->number);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  at->at = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
  at->recorded = 1;
  return shim_return(hipSuccess);
}

PRETENDS("flags change nothing")
hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  (void)flags;
  return hipEventRecord(event, stream);
}

API hipError_t hipEventSynchronize(hipEvent_t event) {
  struct shim_event *at = known_event(event);
  if (!at) return shim_return(hipErrorInvalidHandle);
  if (at->recorded) shim_order(ORDER_WAIT_EVENT, at->number, 0);
  return shim_return(at->recorded ? ASK(OP_SYNC, NULL, 0) : hipSuccess);
}

API hipError_t hipEventQuery(hipEvent_t event) {
  struct shim_event *at = known_event(event);
  if (!at) return shim_return(hipErrorInvalidHandle);
  hipError_t status = at->recorded ? ASK(OP_QUERY, NULL, 0) : hipSuccess;
  if (at->recorded && !status) shim_order(ORDER_WAIT_EVENT, at->number, 0);
  return shim_return(status);
}

PRETENDS("the time that the emulator took: nothing about a card")
hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop) {
  struct shim_event *from = known_event(start), *to = known_event(stop);
  if (!milliseconds) return shim_return(hipErrorInvalidValue);
  if (!from || !to || !from->recorded || !to->recorded || ((from->flags | to->flags) & DISABLE_TIMING))
    return shim_return(hipErrorInvalidHandle);
  *milliseconds = (float)(to->at - from->at); /* the emulator's time: nothing about a card */
  return shim_return(hipSuccess);
}
