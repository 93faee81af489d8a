// Device functions of HIP that these headers know by name and do not have. Using one is a
// compile-time error that says why; ROCm's headers and device libraries have them all.
#pragma once
#include <hip/hip_vector_types.h>

#define LAYOUTPROBE_NO_LIBRARY(name)                                                                \
  "layoutprobe's own HIP headers have no " name ": it needs the device libraries of ROCm; install " \
  "ROCm, or use the __fast form where there is one"

extern "C" {
LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no printf in device code: it needs a host at "
                    "work; guard it with #ifdef, or use `layoutprobe` findings instead")
int printf(const char* format, ...);
LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no assert in device code; compile with -DNDEBUG")
void __assert_fail(const char* text, const char* file, unsigned line, const char* function);
}
LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no malloc in device code: there is no heap")
void* malloc(size_t bytes);
LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no free in device code: there is no heap")
void free(void* memory);

#define LAYOUTPROBE_NO_MATH(name) \
  LAYOUTPROBE_MISSING(LAYOUTPROBE_NO_LIBRARY(#name)) float name(float);
// These two may be named, as templates of libraries do, and not called.
LAYOUTPROBE_UNCALLED(LAYOUTPROBE_NO_LIBRARY("sinf")) float sinf(float);
LAYOUTPROBE_UNCALLED(LAYOUTPROBE_NO_LIBRARY("cosf")) float cosf(float);
LAYOUTPROBE_NO_MATH(tanf)
LAYOUTPROBE_NO_MATH(asinf)
LAYOUTPROBE_NO_MATH(acosf)
LAYOUTPROBE_NO_MATH(atanf)
LAYOUTPROBE_NO_MATH(sinhf)
LAYOUTPROBE_NO_MATH(coshf)
LAYOUTPROBE_NO_MATH(erff)
LAYOUTPROBE_NO_MATH(erfcf)
LAYOUTPROBE_NO_MATH(expm1f)
LAYOUTPROBE_NO_MATH(log1pf)
LAYOUTPROBE_NO_MATH(cbrtf)
LAYOUTPROBE_NO_MATH(lgammaf)
LAYOUTPROBE_NO_MATH(tgammaf)
#undef LAYOUTPROBE_NO_MATH
LAYOUTPROBE_MISSING(LAYOUTPROBE_NO_LIBRARY("powf")) float powf(float, float);
LAYOUTPROBE_MISSING(LAYOUTPROBE_NO_LIBRARY("atan2f")) float atan2f(float, float);
LAYOUTPROBE_MISSING(LAYOUTPROBE_NO_LIBRARY("fmodf")) float fmodf(float, float);
LAYOUTPROBE_MISSING(LAYOUTPROBE_NO_LIBRARY("sincosf")) void sincosf(float, float*, float*);

// Of these there is a form for float, which an argument of type double must not take in silence.
LAYOUTPROBE_MISSING(LAYOUTPROBE_NO_LIBRARY("exp of doubles")) double exp(double);
LAYOUTPROBE_MISSING(LAYOUTPROBE_NO_LIBRARY("log of doubles")) double log(double);

#define LAYOUTPROBE_NO_CLOCK(name) \
  LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no " #name ": an emulated kernel has no clock") \
  long long name();
LAYOUTPROBE_NO_CLOCK(clock64)
LAYOUTPROBE_NO_CLOCK(wall_clock64)
#undef LAYOUTPROBE_NO_CLOCK

#define LAYOUTPROBE_NO_VOTE(name)                                                                      \
  LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no " #name ": vote through LDS and __syncthreads") \
  int name(int predicate);
LAYOUTPROBE_NO_VOTE(__syncthreads_count)
LAYOUTPROBE_NO_VOTE(__syncthreads_and)
LAYOUTPROBE_NO_VOTE(__syncthreads_or)
#undef LAYOUTPROBE_NO_VOTE
#undef LAYOUTPROBE_NO_LIBRARY
