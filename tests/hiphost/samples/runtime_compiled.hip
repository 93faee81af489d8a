// A template that is compiled while the program runs: its instances are asked for by name expressions.
#include "sample.h"

#include <hip/hiprtc.h>
#include <string.h>

static const char *const header = "template <typename T> __device__ T twice(T x) { return x + x; }\n";
static const char *const source = R"(
#include "twice.h"
__device__ int calls = 7;
template <typename T, int N> __global__ void scale(const T *x, T *y, int n) {
  __shared__ T part[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  part[t] = i < n ? twice(x[i]) : T(0);
#if !defined(UNORDERED)
  __syncthreads();
#endif
  if (i < n) y[i] = part[blockDim.x - 1 - t] + T(OFFSET);
}
)";

#define RTC(call) \
  do { \
    hiprtcResult result = (call); \
    if (result != HIPRTC_SUCCESS) { printf("%s: %s\n", #call, hiprtcGetErrorString(result)); exit(1); } \
  } while (0)

int main() {
  hiprtcProgram program;
  const char *names[] = {"twice.h"}, *texts[] = {header};
  RTC(hiprtcCreateProgram(&program, source, "scale.cu", 1, texts, names));
  RTC(hiprtcAddNameExpression(program, "scale<float, 256>"));
  RTC(hiprtcAddNameExpression(program, "&calls"));
  const char *options[] = {"-DOFFSET=3", "--std=c++17", "-O2",
#if FAULT == 1
                           "-DUNORDERED"
#endif
  };
  RTC(hiprtcCompileProgram(program, sizeof options / sizeof *options, options));
  size_t size = 0;
  RTC(hiprtcGetCodeSize(program, &size));
  char *code = (char *)malloc(size);
  RTC(hiprtcGetCode(program, code));
  const char *kernel_name = 0, *variable_name = 0;
  RTC(hiprtcGetLoweredName(program, "scale<float, 256>", &kernel_name));
  RTC(hiprtcGetLoweredName(program, "&calls", &variable_name));

  hipModule_t module;
  hipFunction_t kernel;
  hipDeviceptr_t calls;
  CHECK(hipModuleLoadData(&module, code));
  CHECK(hipModuleGetFunction(&kernel, module, kernel_name));
  CHECK(hipModuleGetGlobal(&calls, &size, module, variable_name));
  int held = 0;
  CHECK(hipMemcpyDtoH(&held, calls, sizeof held));

  int n = 512;
  float x[512], y[512], *dx, *dy;
  for (int i = 0; i < n; i++) x[i] = (float)i;
  CHECK(hipMalloc((void **)&dx, sizeof x));
  CHECK(hipMalloc((void **)&dy, sizeof y));
  CHECK(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice));
  void *arguments[] = {&dx, &dy, &n};
  CHECK(hipModuleLaunchKernel(kernel, 2, 1, 1, 256, 1, 1, 0, 0, arguments, 0));
  CHECK(hipMemcpy(y, dy, sizeof y, hipMemcpyDeviceToHost));
  int good = held == 7;
  for (int i = 0; i < n; i++) good &= y[i] == 2.f * (float)(i / 256 * 256 + 255 - i % 256) + 3.f;

  // What does not compile says why, and the program goes on.
  hiprtcProgram wrong;
  RTC(hiprtcCreateProgram(&wrong, "__global__ void k() { unknown(); }\n", "wrong.cu", 0, 0, 0));
  good &= hiprtcCompileProgram(wrong, 0, 0) == HIPRTC_ERROR_COMPILATION;
  RTC(hiprtcGetProgramLogSize(wrong, &size));
  char *log = (char *)malloc(size);
  RTC(hiprtcGetProgramLog(wrong, log));
  good &= strstr(log, "wrong.cu:1") != 0 && strstr(log, "unknown") != 0;
  RTC(hiprtcDestroyProgram(&wrong));
  RTC(hiprtcDestroyProgram(&program));
  CHECK(hipModuleUnload(module));
  CHECK(hipFree(dx));
  CHECK(hipFree(dy));
  free(log);
  free(code);
  return verdict(good);
}
