// What the samples share. Each is a program as public samples are: it computes, compares, and says "passed". With
// -DFAULT=n it has one fault, which is found at the line that says "fault n".
#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#ifndef FAULT
#define FAULT 0
#endif

#define CHECK(call)                                                                              \
  do {                                                                                           \
    const hipError_t status = (call);                                                            \
    if (status != hipSuccess) {                                                                  \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(status));  \
      exit(3);                                                                                   \
    }                                                                                            \
  } while (0)

inline int verdict(bool right) {
  printf(right ? "passed\n" : "failed\n");
  return FAULT || right ? 0 : 1;
}
