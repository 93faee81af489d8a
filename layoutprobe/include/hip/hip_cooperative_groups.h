#error "layoutprobe's own HIP headers have no <hip/hip_cooperative_groups.h>: install ROCm, or use __syncthreads() and the __shfl functions of <hip/hip_runtime.h>"
