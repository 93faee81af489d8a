#error "layoutprobe's own HIP headers have no <hip/hiprtc.h>: nothing is compiled at run time here; give layoutprobe the kernel's source"
