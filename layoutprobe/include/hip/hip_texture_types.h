#error "layoutprobe's own HIP headers have no <hip/hip_texture_types.h>: the emulator has no textures"
