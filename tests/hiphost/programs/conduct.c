// Does one thing with memory that a program should not, by the name of it; and looks at no status.
#include "host.h"

#define IS(name) (!strcmp(name, words[1]))

int main(int count, char **words) {
  char host[256] = {1};
  void *device = NULL, *pinned = NULL;
  if (count < 2) return 9;
  hipMalloc(&device, 128);
  hipHostMalloc(&pinned, 128, 0);
  hipMemcpy(device, host, IS("part") ? 100 : 128, hipMemcpyHostToDevice);
  if (IS("to the device")) hipMemcpy(device, host, 129, hipMemcpyHostToDevice);
  if (IS("from the device")) hipMemcpy(host, (char *)device + 64, 65, hipMemcpyDeviceToHost);
  if (IS("between")) hipMemcpy(pinned, device, 140, hipMemcpyDefault);
  if (IS("pinned")) hipMemcpy(pinned, host, 200, hipMemcpyHostToHost);
  if (IS("fill")) hipMemset(device, 0, 256);
  if (IS("part")) hipMemcpy(host, device, 128, hipMemcpyDeviceToHost);
  if (IS("fresh")) {
    void *fresh = NULL;
    hipMalloc(&fresh, 512);
    hipMemcpy(device, (char *)fresh + 16, 64, hipMemcpyDeviceToDevice);
    hipMemcpy(host, device, 128, hipMemcpyDeviceToHost);
    hipFree(fresh);
  }
  if (IS("written after all")) {
    hipMemset((char *)device + 100, 0, 28);
    hipMemcpy(host, device, 128, hipMemcpyDeviceToHost);
  }
  if (IS("long")) for (;;) hipMemcpy(host, device, 128, hipMemcpyDeviceToHost);
  if (!IS("kept")) {
    hipFree(device);
    hipHostFree(pinned);
  }
  return 0;
}
