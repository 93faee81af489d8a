// Drives the kernels of a code object, whose path is the first argument, through HIP's module interface.
#include "host.h"

enum { N = 100 };

struct job {
  const int *in;
  int *out;
  int factor;
};

static void arguments(hipModule_t module, hipStream_t stream) {
  hipFunction_t function;
  int *out, back[64];
  CHECK(hipModuleGetFunction(&function, module, "mixed"));
  CHECK(hipMalloc((void **)&out, sizeof back));
  signed char a = -7;
  short b = -300;
  double c = 2.25;
  unsigned char d = 200;
  int e = 123456;
  void *params[] = {&a, &out, &b, &c, &d, &e};
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, params, NULL));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(back, out, sizeof back, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) EXPECT(back[i] == i * 1000 - 7 - 3000 + 9 + 600 + 123456);

  struct { signed char a; int *out; short b; double c; unsigned char d; int e; } packed = {1, out, 2, 3, 4, 5};
  size_t size = sizeof packed;
  void *extra[] = {(void *)1, &packed, (void *)2, &size, (void *)3};
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, NULL, extra));
  CHECK(hipMemcpy(back, out, sizeof back, hipMemcpyDefault));
  for (int i = 0; i < 64; i++) EXPECT(back[i] == i * 1000 + 1 + 20 + 12 + 12 + 5);
  CHECK(hipFree(out));
}

// Device memory, memory of host and device, and managed memory, all behind pointers in memory.
static void pointers(hipModule_t module, hipStream_t stream) {
  hipFunction_t function;
  CHECK(hipModuleGetFunction(&function, module, "scale"));
  int *on_device, *pinned, *managed, source[N], back[N];
  struct job *jobs;
  for (int i = 0; i < N; i++) source[i] = 3 * i + 1;
  CHECK(hipMalloc((void **)&on_device, 2 * sizeof source));
  CHECK(hipHostMalloc((void **)&pinned, sizeof source, 0));
  CHECK(hipMallocManaged((void **)&managed, sizeof source, 1));
  CHECK(hipHostMalloc((void **)&jobs, sizeof *jobs, 0));
  CHECK(hipMemcpyAsync(on_device, source, sizeof source, hipMemcpyHostToDevice, stream));
  memcpy(pinned, source, sizeof source);
  jobs[0] = (struct job){on_device, managed, 5};
  struct job last = {pinned, on_device + N, -2};
  int n = N;
  void *params[] = {&jobs, &last, &n};
  CHECK(hipModuleLaunchKernel(function, 4, 2, 1, 32, 1, 1, 0, stream, params, NULL));
  int polls = 0;
  while (hipStreamQuery(stream) == 600) polls++;
  EXPECT(polls > 0);
  CHECK(hipMemcpy(back, on_device + N, sizeof back, hipMemcpyDeviceToHost));
  for (int i = 0; i < N; i++) {
    EXPECT(managed[i] == 5 * source[i]);
    EXPECT(back[i] == -2 * source[i]);
  }
  CHECK(hipFree(on_device));
  CHECK(hipHostFree(pinned));
  CHECK(hipFree(managed));
  CHECK(hipHostFree(jobs));
}

static void globals(hipModule_t module) {
  hipFunction_t function;
  int *address, *out, values[32], back[32], counters[4];
  size_t size;
  CHECK(hipModuleGetFunction(&function, module, "count"));
  CHECK(hipModuleGetGlobal((void **)&address, &size, module, "table"));
  EXPECT(size == sizeof values);
  for (int i = 0; i < 32; i++) values[i] = i * i;
  CHECK(hipMemcpy(address, values, size, hipMemcpyHostToDevice));
  CHECK(hipMalloc((void **)&out, sizeof back));
  void *params[] = {&out};
  for (int round = 0; round < 2; round++) {
    CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    CHECK(hipMemcpy(back, out, sizeof back, hipMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) EXPECT(back[i] == 5 + i % 4 + (i % 4 == 1 ? 100 * round : 0) + i * i);
  }
  CHECK(hipModuleGetGlobal((void **)&address, &size, module, "counter"));
  CHECK(hipMemcpy(counters, address, sizeof counters, hipMemcpyDeviceToHost));
  EXPECT(counters[0] == 5 && counters[1] == 206 && counters[3] == 8);
  CHECK(hipFree(out));
}

static void copies(hipModule_t module) {
  hipFunction_t function;
  int *a, *b, back[64], source[64];
  CHECK(hipModuleGetFunction(&function, module, "reverse"));
  for (int i = 0; i < 64; i++) source[i] = i * 7;
  CHECK(hipMalloc((void **)&a, sizeof source));
  CHECK(hipMalloc((void **)&b, sizeof source));
  CHECK(hipMemcpy(a, source, sizeof source, hipMemcpyHostToDevice));
  void *params[] = {&a};
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 64 * sizeof(int), NULL, params, NULL));
  CHECK(hipMemcpy(b, a, sizeof source, hipMemcpyDeviceToDevice));
  CHECK(hipMemset(a, 0x5a, 8));
  CHECK(hipMemsetD32(a + 2, -5, 3));
  CHECK(hipMemcpy(back, a, sizeof back, hipMemcpyDeviceToHost));
  EXPECT(back[0] == 0x5a5a5a5a && back[1] == 0x5a5a5a5a && back[2] == -5 && back[4] == -5);
  EXPECT(back[5] == 7 * 58);
  CHECK(hipMemcpy(back, b, sizeof back, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) EXPECT(back[i] == 7 * (63 - i));
  memset(back, 0, sizeof back); // a tile of 3 rows and 2 columns, out of rows of 8 into rows of 4
  CHECK(hipMemcpy2D(back, 16, b + 9, 32, 8, 3, hipMemcpyDeviceToHost));
  for (int row = 0; row < 3; row++) EXPECT(back[4 * row + 1] == 7 * (63 - 9 - 8 * row - 1) && back[4 * row + 2] == 0);
  CHECK(hipFree(a));
  CHECK(hipFree(b));
}

static void errors(hipModule_t module) {
  hipFunction_t function;
  int *out, host;
  EXPECT(hipModuleGetFunction(&function, module, "none") == 500);
  EXPECT(hipPeekAtLastError() == 500 && hipGetLastError() == 500 && hipGetLastError() == 0);
  EXPECT(hipMemcpy(&host, &host, 4, hipMemcpyDeviceToHost) == 1);
  EXPECT(hipFree(&host) == 1);
  CHECK(hipMalloc((void **)&out, 128));
  EXPECT(hipFree(out + 1) == 1);
  EXPECT(hipMemset(out, 0, 129) == 1);
  EXPECT(hipMalloc((void **)&function, (size_t)1 << 40) == 2);
  CHECK(hipModuleGetFunction(&function, module, "out_of_bounds"));
  int n = 1;
  void *params[] = {&out, &n};
  EXPECT(hipModuleLaunchKernel(function, 1, 1, 1, 2000, 1, 1, 0, NULL, params, NULL) == 9);
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
  CHECK(hipFree(out));
  EXPECT(hipMemset(out, 0, 1) == 1); // freed
  CHECK(hipMalloc((void **)&out, 128));
  hipGetLastError();
  if (getenv("FAULT")) { // the launch succeeds, and the fault shows at whatever comes next
    n = 2;
    CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    EXPECT(hipDeviceSynchronize() == 700);
    EXPECT(hipMalloc((void **)&out, 16) == 700);
    CHECK(hipDeviceReset());
    CHECK(hipMalloc((void **)&out, 16));
  }
}

int main(int argc, char **argv) {
  hipModule_t module;
  hipStream_t stream;
  hipEvent_t start, stop;
  float time = -1;
  int count;
  size_t before, after, total;
  CHECK(hipInit(0));
  CHECK(hipGetDeviceCount(&count));
  CHECK(hipMemGetInfo(&before, &total));
  EXPECT(argc > 1 && hipModuleLoad(&module, "/nonexistent") == 301);
  CHECK(hipModuleLoad(&module, argv[1]));
  CHECK(hipStreamCreate(&stream));
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  EXPECT(hipEventElapsedTime(&time, start, stop) == 400);
  CHECK(hipEventRecord(start, stream));
  arguments(module, stream);
  pointers(module, stream);
  CHECK(hipEventRecord(stop, stream));
  CHECK(hipStreamWaitEvent(stream, stop, 0));
  CHECK(hipEventSynchronize(stop));
  CHECK(hipEventElapsedTime(&time, start, stop));
  EXPECT(time > 0);
  globals(module);
  copies(module);
  CHECK(hipEventDestroy(start));
  CHECK(hipEventDestroy(stop));
  CHECK(hipStreamDestroy(stream));
  EXPECT(hipStreamSynchronize(stream) == 400);
  CHECK(hipModuleUnload(module));
  CHECK(hipMemGetInfo(&after, &total));
  EXPECT(before == after && total >= before); // nothing was lost
  CHECK(hipModuleLoad(&module, argv[1]));
  errors(module);
  char line[64] = "";
  if (read(0, line, sizeof line - 1) > 0) printf("heard %s", line);
  puts("all as expected");
  return argc > 2 ? atoi(argv[2]) : 0;
}
