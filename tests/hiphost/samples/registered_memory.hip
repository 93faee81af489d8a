// Memory of malloc that is registered: the kernel stores where the host reads, without a copy.
#include "sample.h"

__global__ void scale(float* data, int count, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= by;  // fault 1: epilogue/out-of-bounds
}

int main() {
  const int count = 3000;
  bool right = true;
  float* data = (float*)malloc(count * sizeof(float));
  float* other = (float*)malloc(count * sizeof(float));
  float *seen, *again;
  for (int i = 0; i < count; i++) data[i] = other[i] = i;
  CHECK(hipHostRegister(data, count * sizeof(float), hipHostRegisterDefault));
  right = right && hipHostRegister(data, 4, hipHostRegisterDefault) == hipErrorHostMemoryAlreadyRegistered;
  (void)hipGetLastError();
  CHECK(hipHostGetDevicePointer(&seen, data, 0));
  CHECK(hipHostGetDevicePointer(&again, data + 10, 0));
  right = right && again == seen + 10 && data[7] == 7.0f;
  data[5] = 50.0f;
  scale<<<(count + 255) / 256, 256>>>(seen, FAULT == 1 ? count + 1 : count, 2.0f);
  (void)hipDeviceSynchronize();
  for (int i = 0; i < count; i++) right = right && data[i] == (i == 5 ? 100.0f : 2.0f * i);
#if FAULT != 1
  CHECK(hipHostUnregister(data));
  right = right && hipHostUnregister(data) == hipErrorHostMemoryNotRegistered;
#endif
  for (int i = 0; i < count; i++) right = right && other[i] == i && data[i] == (i == 5 ? 100.0f : 2.0f * i);
  data[0] = 1.0f;
  free(data);
  free(other);
  return verdict(right);
}
