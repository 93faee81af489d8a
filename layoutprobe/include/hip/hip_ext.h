#error "layoutprobe's own HIP headers have no <hip/hip_ext.h>: it is for host code; guard the include with #ifndef __HIP_DEVICE_COMPILE__"
