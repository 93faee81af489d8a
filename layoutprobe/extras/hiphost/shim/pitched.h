/* Structures of pitched memory, as AMD's header has them. */
#ifndef LAYOUTPROBE_SHIM_PITCHED_H
#define LAYOUTPROBE_SHIM_PITCHED_H

#include <stddef.h>

struct pitched { void *pointer; size_t pitch, width, height; };   /* hipPitchedPtr */
struct extent { size_t width, height, depth; };                   /* hipExtent */
struct position { size_t x, y, z; };                              /* hipPos */
struct copy {                                                     /* hipMemcpy3DParms */
  void *from_array;
  struct position from_at;
  struct pitched from;
  void *to_array;
  struct position to_at;
  struct pitched to;
  struct extent extent;
  int kind;
};

#endif
