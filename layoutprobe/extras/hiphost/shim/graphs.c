/* Graphs: pieces of work and what each waits for, made by hand or captured from streams. A launch does them one after
 * the other, and tells the device the order that the graph states, and no more: two that are not ordered and use the
 * same memory are found, as on two streams. */
#include <stdlib.h>
#include <string.h>

#include "graphs.h"
#include "pitched.h"

enum { EMPTY, KERNEL, COPY, FILL, HOST };

struct shim_node {
  struct shim_node *next, *copied_to; /* in the order in which they were added; its copy in the graph made last */
  struct shim_nodes after;
  int kind, fresh, awaited; /* fresh: begins a stream of its own; awaited: others wait for its event */
  uint32_t stream, event;
  hipFunction_t function;
  dim3 grid, block;
  uint32_t lds;
  size_t size; /* of the arguments, or of a row that is copied */
  unsigned char *arguments;
  char *to;
  const char *from;
  size_t rows, to_pitch, from_pitch, count;
  int direction, width;
  uint32_t item;
  void (*call)(void *);
  void *data;
};
struct shim_graph {
  struct shim_node *first, **end;
};
struct executable {
  struct shim_graph graph;
  uint32_t start;
};

int shim_nodes_add(struct shim_nodes *list, struct shim_node *node) {
  for (size_t i = 0; i < list->count; i++)
    if (list->at[i] == node) return 1;
  struct shim_node **at = realloc(list->at, (list->count + 1) * sizeof *at);
  if (!at) return 0;
  list->at = at;
  at[list->count++] = node;
  return 1;
}
void shim_nodes_clear(struct shim_nodes *list) {
  free(list->at);
  *list = (struct shim_nodes){0};
}

static struct shim_node *add(struct shim_graph *graph, struct shim_node *const *after, size_t count, struct shim_node what) {
  struct shim_node *made = malloc(sizeof *made);
  if (!made) return NULL;
  *made = what;
  made->next = NULL;
  made->after = (struct shim_nodes){0};
  for (size_t i = 0; i < count; i++) shim_nodes_add(&made->after, after[i]);
  *graph->end = made;
  graph->end = &made->next;
  return made;
}

static void clear(struct shim_graph *graph) {
  for (struct shim_node *at = graph->first, *next; at; at = next) {
    next = at->next;
    shim_nodes_clear(&at->after);
    free(at->arguments);
    free(at);
  }
}

struct shim_graph *shim_graph_new(void) {
  struct shim_graph *made = calloc(1, sizeof *made);
  if (made) made->end = &made->first;
  return made;
}
void shim_graph_free(struct shim_graph *graph) {
  clear(graph);
  free(graph);
}

/* Whether every piece of work is one of these, or one of these waits for it. */
int shim_graph_joined(const struct shim_graph *graph, const struct shim_nodes *ends) {
  for (struct shim_node *one = graph->first; one; one = one->next) {
    int waited = 0;
    for (size_t i = 0; i < ends->count; i++) waited |= ends->at[i] == one;
    for (struct shim_node *at = graph->first; at; at = at->next)
      for (size_t i = 0; i < at->after.count; i++) waited |= at->after.at[i] == one;
    if (!waited) return 0;
  }
  return 1;
}

/* What a capture takes down. */

static hipError_t captured(struct shim_capture *into, struct shim_node what) {
  struct shim_node *made = add(into->graph, into->last.at, into->last.count, what);
  if (!made) return hipErrorOutOfMemory;
  into->last.count = 0;
  return shim_nodes_add(&into->last, made) ? hipSuccess : hipErrorOutOfMemory;
}

static unsigned char *kept(const void *bytes, size_t size) {
  unsigned char *made = malloc(size + 1);
  if (made) memcpy(made, bytes, size);
  return made;
}

hipError_t shim_capture_kernel(struct shim_capture *into, hipFunction_t function, dim3 grid, dim3 block, uint32_t lds,
                               const void *bytes, size_t size) {
  return captured(into, (struct shim_node){.kind = KERNEL, .function = function, .grid = grid, .block = block,
                                           .lds = lds, .arguments = kept(bytes, size), .size = size});
}
hipError_t shim_capture_copy(struct shim_capture *into, void *to, const void *from, size_t size, int kind) {
  return captured(into, (struct shim_node){.kind = COPY, .to = to, .from = from, .size = size, .rows = 1,
                                           .direction = kind});
}
hipError_t shim_capture_fill(struct shim_capture *into, void *to, uint32_t item, size_t count, int width) {
  return captured(into, (struct shim_node){.kind = FILL, .to = to, .item = item, .count = count, .rows = 1,
                                           .width = width});
}
hipError_t shim_capture_call(struct shim_capture *into, void (*call)(void *), void *data) {
  return captured(into, (struct shim_node){.kind = HOST, .call = call, .data = data});
}

/* Graphs made by hand. */

API hipError_t hipGraphCreate(struct shim_graph **graph, unsigned flags) {
  if (!graph || flags) return shim_return(hipErrorInvalidValue);
  *graph = shim_graph_new();
  return shim_return(*graph ? hipSuccess : hipErrorOutOfMemory);
}
API hipError_t hipGraphDestroy(struct shim_graph *graph) {
  if (graph) shim_graph_free(graph);
  return shim_return(graph ? hipSuccess : hipErrorInvalidValue);
}

static hipError_t added(struct shim_node **node, struct shim_graph *graph, struct shim_node *const *after, size_t count,
                        struct shim_node what) {
  if (!node || !graph || (count && !after)) return hipErrorInvalidValue;
  *node = add(graph, after, count, what);
  return *node ? hipSuccess : hipErrorOutOfMemory;
}

API hipError_t hipGraphAddEmptyNode(struct shim_node **node, struct shim_graph *graph, struct shim_node *const *after,
                                    size_t count) {
  return shim_return(added(node, graph, after, count, (struct shim_node){.kind = EMPTY}));
}

struct kernel { dim3 block; void **extra; void *host; dim3 grid; void **params; unsigned lds; }; /* hipKernelNodeParams */

static hipError_t packed(const struct kernel *it, struct shim_node *what) {
  if (!it) return hipErrorInvalidValue;
  *what = (struct shim_node){.kind = KERNEL, .grid = it->grid, .block = it->block, .lds = it->lds};
  hipError_t status = shim_registered(it->host, &what->function);
  return status ? status : shim_pack(what->function, it->params, it->extra, &what->arguments, &what->size);
}
API hipError_t hipGraphAddKernelNode(struct shim_node **node, struct shim_graph *graph, struct shim_node *const *after,
                                     size_t count, const struct kernel *it) {
  struct shim_node what;
  hipError_t status = packed(it, &what);
  return shim_return(status ? status : added(node, graph, after, count, what));
}

API hipError_t hipGraphAddMemcpyNode1D(struct shim_node **node, struct shim_graph *graph,
                                       struct shim_node *const *after, size_t count, void *to, const void *from,
                                       size_t size, int kind) {
  struct shim_node what = {.kind = COPY, .to = to, .from = from, .size = size, .rows = 1, .direction = kind};
  return shim_return(added(node, graph, after, count, what));
}

static char *corner(const struct pitched *memory, const struct position *at) {
  return (char *)memory->pointer + (at->z * memory->height + at->y) * memory->pitch + at->x;
}
API hipError_t hipGraphAddMemcpyNode(struct shim_node **node, struct shim_graph *graph, struct shim_node *const *after,
                                     size_t count, const struct copy *it) {
  if (!it) return shim_return(hipErrorInvalidValue);
  int whole = it->extent.depth == 1 || (it->from.height == it->extent.height && it->to.height == it->extent.height);
  if (it->from_array || it->to_array || !whole) {
    shim_say("hipGraphAddMemcpyNode copies rows of memory: no arrays, and no boxes of several layers");
    return shim_return(hipErrorNotSupported);
  }
  struct shim_node what = {.kind = COPY, .to = corner(&it->to, &it->to_at), .from = corner(&it->from, &it->from_at),
                           .to_pitch = it->to.pitch, .from_pitch = it->from.pitch, .size = it->extent.width,
                           .rows = it->extent.height * it->extent.depth, .direction = it->kind};
  return shim_return(added(node, graph, after, count, what));
}

struct fill { void *to; unsigned width; size_t height, pitch; unsigned item; size_t count; }; /* hipMemsetParams */

API hipError_t hipGraphAddMemsetNode(struct shim_node **node, struct shim_graph *graph, struct shim_node *const *after,
                                     size_t count, const struct fill *it) {
  if (!it || (it->width != 1 && it->width != 2 && it->width != 4)) return shim_return(hipErrorInvalidValue);
  struct shim_node what = {.kind = FILL, .to = it->to, .item = it->item, .count = it->count, .rows = it->height,
                           .to_pitch = it->pitch, .width = (int)it->width};
  return shim_return(added(node, graph, after, count, what));
}

struct call { void (*call)(void *); void *data; }; /* hipHostNodeParams */

API hipError_t hipGraphAddHostNode(struct shim_node **node, struct shim_graph *graph, struct shim_node *const *after,
                                   size_t count, const struct call *it) {
  if (!it || !it->call) return shim_return(hipErrorInvalidValue);
  struct shim_node what = {.kind = HOST, .call = it->call, .data = it->data};
  return shim_return(added(node, graph, after, count, what));
}

API hipError_t hipGraphAddDependencies(struct shim_graph *graph, struct shim_node *const *from,
                                       struct shim_node *const *to, size_t count) {
  if (!graph || (count && (!from || !to))) return shim_return(hipErrorInvalidValue);
  for (size_t i = 0; i < count; i++)
    if (!shim_nodes_add(&to[i]->after, from[i])) return shim_return(hipErrorOutOfMemory);
  return shim_return(hipSuccess);
}

static hipError_t listed(const struct shim_graph *graph, struct shim_node **nodes, size_t *count, int roots) {
  size_t found = 0;
  if (!graph || !count) return hipErrorInvalidValue;
  for (struct shim_node *at = graph->first; at; at = at->next) {
    if (roots && at->after.count) continue;
    if (nodes && found < *count) nodes[found] = at;
    found++;
  }
  if (!nodes || found < *count) *count = found;
  return hipSuccess;
}
API hipError_t hipGraphGetNodes(struct shim_graph *graph, struct shim_node **nodes, size_t *count) {
  return shim_return(listed(graph, nodes, count, 0));
}
API hipError_t hipGraphGetRootNodes(struct shim_graph *graph, struct shim_node **nodes, size_t *count) {
  return shim_return(listed(graph, nodes, count, 1));
}

API hipError_t hipGraphNodeGetType(struct shim_node *node, int *type) {
  static const int types[] = {[EMPTY] = 5, [KERNEL] = 0, [COPY] = 1, [FILL] = 2, [HOST] = 3}; /* hipGraphNodeType */
  if (node && type) *type = types[node->kind];
  return shim_return(node && type ? hipSuccess : hipErrorInvalidValue);
}

/* Executables: a copy in an order that does what each piece waits for before it. */

static int ready(const struct shim_node *node) {
  for (size_t i = 0; i < node->after.count; i++)
    if (!node->after.at[i]->copied_to) return 0;
  return 1;
}

static struct shim_node *copy_of(struct executable *made, struct shim_node *node) {
  struct shim_node *copy = add(&made->graph, NULL, 0, *node);
  if (!copy) return NULL;
  if (node->arguments) copy->arguments = kept(node->arguments, node->size);
  for (size_t i = 0; i < node->after.count; i++) shim_nodes_add(&copy->after, node->after.at[i]->copied_to);
  return node->copied_to = copy;
}

/* One that waits for one alone, for which nobody waited yet, goes on in its stream. */
static void number(struct executable *made) {
  for (struct shim_node *at = made->graph.first; at; at = at->next) {
    struct shim_node *before = at->after.count == 1 ? at->after.at[0] : NULL;
    at->fresh = !before || before->copied_to;
    at->awaited = 1;
    at->copied_to = NULL;
    at->event = shim_new_event();
    at->stream = at->fresh ? shim_new_stream() : before->stream;
    if (!at->fresh) before->copied_to = at, before->awaited = 0;
  }
  for (struct shim_node *at = made->graph.first; at; at = at->next)
    for (size_t i = 0; at->fresh && i < at->after.count; i++) at->after.at[i]->awaited = 1;
  made->start = shim_new_event();
}

API hipError_t hipGraphInstantiate(struct executable **made, struct shim_graph *graph, struct shim_node **wrong,
                                   char *log, size_t size) {
  if (wrong) *wrong = NULL;
  if (log && size) *log = 0;
  if (!made || !graph) return shim_return(hipErrorInvalidValue);
  struct executable *it = calloc(1, sizeof *it);
  if (!it) return shim_return(hipErrorOutOfMemory);
  it->graph.end = &it->graph.first;
  size_t left = 0, before = 0;
  for (struct shim_node *at = graph->first; at; at = at->next) at->copied_to = NULL, left++;
  for (; left && left != before; ) {
    before = left;
    for (struct shim_node *at = graph->first; at; at = at->next)
      if (!at->copied_to && ready(at) && copy_of(it, at)) left--;
  }
  if (left) { /* they wait for each other */
    clear(&it->graph);
    free(it);
    return shim_return(hipErrorInvalidValue);
  }
  for (struct shim_node *at = it->graph.first; at; at = at->next) at->copied_to = NULL;
  number(it);
  *made = it;
  return shim_return(hipSuccess);
}
API hipError_t hipGraphInstantiateWithFlags(struct executable **made, struct shim_graph *graph, unsigned long long flags) {
  (void)flags;
  return hipGraphInstantiate(made, graph, NULL, NULL, 0);
}
API hipError_t hipGraphExecDestroy(struct executable *it) {
  if (!it) return shim_return(hipErrorInvalidValue);
  clear(&it->graph);
  free(it);
  return shim_return(hipSuccess);
}
PRETENDS("nothing is uploaded")
hipError_t hipGraphUpload(struct executable *it, hipStream_t stream) {
  (void)stream;
  return shim_return(it ? hipSuccess : hipErrorInvalidValue);
}

/* By the node of the graph that it was made from last. */
API hipError_t hipGraphExecKernelNodeSetParams(struct executable *it, struct shim_node *node, const struct kernel *to) {
  struct shim_node what, *at = it ? it->graph.first : NULL;
  while (at && node && at != node->copied_to) at = at->next;
  if (!at || !node || at->kind != KERNEL) return shim_return(hipErrorInvalidValue);
  hipError_t status = packed(to, &what);
  if (status) return shim_return(status);
  free(at->arguments);
  at->function = what.function, at->grid = what.grid, at->block = what.block, at->lds = what.lds;
  at->arguments = what.arguments, at->size = what.size;
  return shim_return(hipSuccess);
}

static hipError_t perform(const struct shim_node *it) {
  hipError_t status = hipSuccess;
  switch (it->kind) {
  case KERNEL: return shim_launch_packed(it->function, it->grid, it->block, it->lds, it->arguments, it->size);
  case COPY:
    for (size_t row = 0; row < it->rows && !status; row++)
      status = shim_copy(it->to + row * it->to_pitch, it->from + row * it->from_pitch, it->size, it->direction);
    return status;
  case HOST: it->call(it->data); return hipSuccess;
  case FILL:
    for (size_t row = 0; row < it->rows && it->count && !status; row++)
      status = ASK(OP_FILL, NULL, (uintptr_t)it->to + row * it->to_pitch, it->count, (uint64_t)it->width, it->item);
  }
  return status;
}

API hipError_t hipGraphLaunch(struct executable *it, hipStream_t stream) {
  if (!it) return shim_return(hipErrorInvalidValue);
  hipError_t status = shim_enqueued(stream);
  if (status) return shim_return(status);
  uint32_t on = shim_stream_now();
  shim_order(ORDER_RECORD, on, it->start);
  for (struct shim_node *at = it->graph.first; at; at = at->next) {
    if (at->fresh) shim_order(ORDER_STREAM_EVENT, at->stream, it->start);
    for (size_t i = 0; at->fresh && i < at->after.count; i++)
      shim_order(ORDER_STREAM_EVENT, at->stream, at->after.at[i]->event);
    shim_stream_on(at->stream);
    if ((status = perform(at))) return shim_return(status);
    if (at->awaited) shim_order(ORDER_RECORD, at->stream, at->event);
    if (at->awaited) shim_order(ORDER_STREAM_EVENT, on, at->event);
  }
  return shim_return(hipSuccess);
}
