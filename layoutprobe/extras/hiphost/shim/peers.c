/* Other devices. Each is alone: no kernel reaches another's memory, and copies between them go through the host. */
#include "shim.h"

hipError_t hipGetDeviceCount(int *);

static hipError_t both(int one, int other) {
  int count;
  hipError_t status = hipGetDeviceCount(&count);
  if (status) return status;
  return one >= 0 && one < count && other >= 0 && other < count ? hipSuccess : hipErrorInvalidDevice;
}

PRETENDS("never possible, as hipDeviceCanAccessPeer says: hipErrorInvalidDevice")
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  (void)peer;
  return shim_return(flags ? hipErrorInvalidValue : hipErrorInvalidDevice);
}
PRETENDS("never possible, as hipDeviceCanAccessPeer says: hipErrorInvalidDevice")
hipError_t hipDeviceDisablePeerAccess(int peer) {
  (void)peer;
  return shim_return(hipErrorInvalidDevice);
}

API hipError_t hipMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size) {
  hipError_t status = both(to_device, from_device);
  return shim_return(status ? status : shim_copy(to, from, size, 4));
}
API hipError_t hipMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                                  hipStream_t stream) {
  hipError_t status = shim_enqueued(stream);
  return status ? shim_return(status) : hipMemcpyPeer(to, to_device, from, from_device, size);
}
