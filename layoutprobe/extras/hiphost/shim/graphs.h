/* What streams and launches share with graphs. */
#ifndef LAYOUTPROBE_SHIM_GRAPHS_H
#define LAYOUTPROBE_SHIM_GRAPHS_H

#include "shim.h"

struct shim_graph;
struct shim_node;
struct shim_nodes {
  struct shim_node **at;
  size_t count;
};
/* A stream that is captured: into which graph, and what comes next waits for. */
struct shim_capture {
  struct shim_graph *graph;
  struct shim_nodes last;
};

/* graphs.c */
struct shim_graph *shim_graph_new(void);
void shim_graph_free(struct shim_graph *graph);
int shim_graph_joined(const struct shim_graph *graph, const struct shim_nodes *ends);
int shim_nodes_add(struct shim_nodes *list, struct shim_node *node);
void shim_nodes_clear(struct shim_nodes *list);
hipError_t shim_capture_kernel(struct shim_capture *into, hipFunction_t function, dim3 grid, dim3 block, uint32_t lds,
                               const void *bytes, size_t size);
hipError_t shim_capture_copy(struct shim_capture *into, void *to, const void *from, size_t size, int kind);
hipError_t shim_capture_fill(struct shim_capture *into, void *to, uint32_t item, size_t count, int width);
hipError_t shim_capture_call(struct shim_capture *into, void (*call)(void *), void *data);

/* streams.c: NULL where a stream is not captured. Others than these functions refuse one that is. */
struct shim_capture *shim_captured(hipStream_t stream);
uint32_t shim_new_stream(void);
uint32_t shim_new_event(void);
void shim_stream_on(uint32_t number);

/* modules.c */
hipError_t shim_pack(hipFunction_t function, void **params, void **extra, unsigned char **bytes, size_t *size);
hipError_t shim_launch_packed(hipFunction_t function, dim3 grid, dim3 block, uint32_t lds, const void *bytes,
                              size_t size);

#endif
