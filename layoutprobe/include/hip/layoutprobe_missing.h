// Device functions of HIP that these headers know by name and do not have. Using one is a
// compile-time error that says why; ROCm's headers and device libraries have them all.
#pragma once
#include <hip/hip_vector_types.h>

#define LAYOUTPROBE_NO_LIBRARY(name)                                                                \
  "layoutprobe's own HIP headers have no " name ": it needs the device libraries of ROCm; install ROCm"

extern "C" {
// The compiler makes of it what AMD's runtime does with -mprintf-kind=buffered: text and arguments in a buffer, which
// `layoutprobe run` prints when the kernel has ended. Where nobody gives a buffer, nothing is printed.
__attribute__((device)) int printf(const char* format, ...);
#if defined(LAYOUTPROBE_PRINTS)
// Behind u32 used and u32 size; its address comes with the hidden kernel arguments, at 72.
__attribute__((device, used, nodebug)) inline __attribute__((address_space(1))) char* __printf_alloc(unsigned bytes) {
  typedef __attribute__((address_space(1))) char* Bytes;
  typedef __attribute__((address_space(1))) unsigned* Words;
  const Bytes buffer = ((const __attribute__((address_space(4))) Bytes*)__builtin_amdgcn_implicitarg_ptr())[9];
  if (!buffer) return nullptr;
  const unsigned at = __scoped_atomic_fetch_add((Words)buffer, bytes, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  return 8ull + at + bytes <= ((Words)buffer)[1] ? buffer + 8 + at : nullptr;
}
#endif
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

#define LAYOUTPROBE_NO_TEXTURE(name)                                                                               \
  template <typename T, typename... Places>                                                                        \
  LAYOUTPROBE_MISSING("the emulator has no textures: load from memory of hipMalloc")                               \
  T name(struct hipTextureObject*, Places...);
LAYOUTPROBE_NO_TEXTURE(tex1Dfetch)
LAYOUTPROBE_NO_TEXTURE(tex1D)
LAYOUTPROBE_NO_TEXTURE(tex2D)
LAYOUTPROBE_NO_TEXTURE(tex3D)
#undef LAYOUTPROBE_NO_TEXTURE

#undef LAYOUTPROBE_NO_LIBRARY
