// Does one thing that a program should not, by the name of it.
#include "host.h"

#define IS(name) (!__builtin_strcmp(argv[1], name))

hipError_t hipMemCreate(void **, size_t, const void *, unsigned long long) __attribute__((weak));
int fork(void);
int waitpid(int, int *, int);

int main(int argc, char **argv) {
  int *pointer, status = 0;
  if (argc < 2) return 9;
  CHECK(hipMalloc((void **)&pointer, 64));
  if (IS("dereference")) return *(volatile int *)pointer; // device memory, from the host
  if (IS("exit in the middle")) exit(0);
  if (IS("weak")) return hipMemCreate ? 0 : 1;
  if (IS("lacking")) {
    puts(hipGetErrorName(hipMemCreate((void **)&pointer, 64, NULL, 0)));
    return 0;
  }
  if (IS("fork")) { // a device of its own: the parent's memory is not there
    if (fork() == 0) {
      EXPECT(hipMemset(pointer, 0, 64) == 1);
      int *own, value = 0, *shared;
      CHECK(hipHostMalloc((void **)&shared, 64, 0));
      CHECK(hipMalloc((void **)&own, 64));
      EXPECT(own == pointer);
      CHECK(hipMemset(own, 7, 64));
      CHECK(hipMemcpy(shared, own, 4, hipMemcpyDeviceToHost));
      EXPECT(*shared == 0x07070707 && value == 0);
      exit(0);
    }
    EXPECT(waitpid(-1, &status, 0) > 0 && status == 0);
    int value = 0;
    CHECK(hipMemset(pointer, 3, 64));
    CHECK(hipMemcpy(&value, pointer, 4, hipMemcpyDeviceToHost));
    EXPECT(value == 0x03030303);
    return 0;
  }
  return 8;
}
