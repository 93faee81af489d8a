#error "layoutprobe's own HIP headers have no <hip/hip_fp8.h>: gfx11 has no fp8 arithmetic; install ROCm for its conversions"
