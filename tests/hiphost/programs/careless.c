// Looks at no status and ends with 0. Prints the statuses, for the test.
#include "host.h"

static void told(const char *call, hipError_t status) { printf("%s: %s\n", call, hipGetErrorName(status)); }

int main(int count, char **words) {
  hipModule_t module = NULL;
  hipFunction_t function = NULL;
  void *memory = NULL;
  if (count < 2) return 1;
  told("hipInit", hipInit(0));
  told("hipMalloc", hipMalloc(&memory, 64));
  told("hipModuleLoad", hipModuleLoad(&module, words[1]));
  told("hipModuleGetFunction", hipModuleGetFunction(&function, module, "mixed"));
  told("hipModuleLaunchKernel", hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
  told("hipDeviceSynchronize", hipDeviceSynchronize());
  told("hipFree", hipFree(memory));
  return 0;
}
