#error "layoutprobe's own HIP headers have no <rocwmma/rocwmma.hpp>: install ROCm with rocWMMA, or call __builtin_amdgcn_wmma_f32_16x16x16_f16_w32 yourself"
