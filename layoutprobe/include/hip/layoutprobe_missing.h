// Device functions of HIP that these headers know by name and do not have. Using one is a
// compile-time error that says why; ROCm's headers and device libraries have them all.
#pragma once
#include <hip/hip_vector_types.h>

#define LAYOUTPROBE_NO_LIBRARY(name)                                                                \
  "layoutprobe's own HIP headers have no " name ": it needs the device libraries of ROCm; install ROCm"

extern "C" {
LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no printf in device code: it needs a host at "
                    "work; guard it with #ifdef, or use `layoutprobe` findings instead")
int printf(const char* format, ...);
// A failed assert ends the run at its line; its words are those of the source there.
__attribute__((device, always_inline, nodebug, noreturn)) inline void __assert_fail(
    const char*, const char*, unsigned, const char*) {
  __builtin_trap();
}
}
LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no malloc in device code: there is no heap")
void* malloc(size_t bytes);
LAYOUTPROBE_MISSING("layoutprobe's own HIP headers have no free in device code: there is no heap")
void free(void* memory);

#define LAYOUTPROBE_NO_MATH(name) \
  LAYOUTPROBE_MISSING(LAYOUTPROBE_NO_LIBRARY(#name)) float name(float);
LAYOUTPROBE_NO_MATH(lgammaf)
LAYOUTPROBE_NO_MATH(tgammaf)
#undef LAYOUTPROBE_NO_MATH

#undef LAYOUTPROBE_NO_LIBRARY
