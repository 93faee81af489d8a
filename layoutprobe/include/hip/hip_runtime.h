// What WMMA kernels need of <hip/hip_runtime.h>, where ROCm's own is not installed.
//
// These headers belong to layoutprobe. They give device code the names, types and meanings of HIP's
// API reference, for gfx11 and later, gfx942 and gfx950. Host functions are declared, so that a source which
// also holds its launcher can be parsed, but nothing here can be run on the host. A name that is
// known and not supplied is declared `unavailable` with the reason; any other name is unknown to the
// compiler, and layoutprobe/toolchain/headers.py adds to its message where it could come from.
#pragma once

#ifndef __HIP__
#error "hip_runtime.h of layoutprobe is for HIP sources: compile with -x hip"
#endif

#define LAYOUTPROBE_HIP_HEADERS 1
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif

#include <hip/hip_vector_types.h>
#include <hip/hip_runtime_api.h>
#include <hip/layoutprobe_builtins.h>
#include <hip/layoutprobe_math.h>
#include <hip/layoutprobe_lanes.h>
#include <hip/layoutprobe_atomics.h>
#include <hip/layoutprobe_missing.h>
#include <hip/layoutprobe_internal.h>
