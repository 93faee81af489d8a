#error "layoutprobe's own HIP headers have no <hip/hip_complex.h>: install ROCm, or use float2"
