// What WMMA kernels need of <hip/hip_runtime.h>, where ROCm's own is not installed.
//
// These headers belong to layoutprobe. They give device code the names, types and meanings of HIP's
// API reference, for gfx11 and later, gfx942 and gfx950, and programs for the emulated runtime the host's side of it.
// `layoutprobe hipcc` compiles both; where device code alone is compiled, there is no C library, and the host's
// functions are declared for the launcher that a kernel's source may hold. A name that is
// known and not supplied is declared `unavailable` with the reason; any other name is unknown to the
// compiler, and layoutprobe/toolchain/headers.py adds to its message where it could come from.
#pragma once

#define LAYOUTPROBE_HIP_HEADERS 1
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif

// As ROCm's header does; before the device's functions of the same names.
#if defined(LAYOUTPROBE_HIPCC) && defined(__cplusplus)
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <math.h>
#include <stdio.h>
#elif defined(__cplusplus) && !defined(__HIPCC_RTC__)
// ROCm's header includes <stdlib.h>, and launchers rely on it; these are declared as there, which costs a compilation nothing.
extern "C" {
void exit(int) noexcept __attribute__((noreturn));
void abort() noexcept __attribute__((noreturn));
int atoi(const char*) noexcept;
double atof(const char*) noexcept;
char* getenv(const char*) noexcept;
int rand() noexcept;
void srand(unsigned) noexcept;
}
namespace std {
using ::abort;
using ::atof;
using ::atoi;
using ::exit;
using ::getenv;
using ::rand;
using ::srand;
}  // namespace std
#endif

#include <hip/hip_vector_types.h>
#include <hip/hip_runtime_api.h>
#if defined(__HIP__)
#include <hip/layoutprobe_builtins.h>
#include <hip/layoutprobe_libm.h>
#include <hip/layoutprobe_lanes.h>
#include <hip/layoutprobe_atomics.h>
#include <hip/layoutprobe_missing.h>
#include <hip/layoutprobe_internal.h>
#endif
