// Extensions of the host's interface. In ROCm they are in a file of their own; here all but this one with the rest.
#pragma once
#include <hip/hip_runtime.h>
#if defined(__HIP__) && defined(__cplusplus) && !defined(__HIPCC_RTC__)
template <typename... Parameters, typename... Arguments>
__host__ void hipExtLaunchKernelGGL(void (*kernel)(Parameters...), dim3 grid, dim3 block, uint32_t lds,
                                    hipStream_t stream, hipEvent_t start, hipEvent_t stop, uint32_t,
                                    Arguments... arguments) {
  if (start) (void)hipEventRecord(start, stream);
  kernel<<<grid, block, lds, stream>>>(arguments...);
  if (stop) (void)hipEventRecord(stop, stream);
}
#endif
