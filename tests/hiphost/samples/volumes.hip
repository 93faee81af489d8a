// A volume in pitched memory: filled, a box of it copied in and out, and what one device says of its peers.
#include "sample.h"

__global__ void add_place(char* volume, size_t pitch, int width, int height, int depth) {
  const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  if (x < width) volume[(z * height + y) * pitch + x] += x + 10 * y + 50 * z;  // fault 1: epilogue/out-of-bounds
}

int main() {
  const int width = 20, height = 5, depth = 3;
  hipPitchedPtr volume;
  char box[depth][height][width], inner[2][3][4];
  bool right = true;
  CHECK(hipMalloc3D(&volume, make_hipExtent(width, height, depth)));
  CHECK(hipMemset3D(volume, 1, make_hipExtent(width, height, depth)));
  for (auto& layer : inner)
    for (auto& row : layer)
      for (char& item : row) item = 100;
  hipMemcpy3DParms in = {};
  in.srcPtr = make_hipPitchedPtr(inner, 4, 4, 3);
  in.dstPtr = volume;
  in.dstPos = make_hipPos(8, 1, 1);
  in.extent = make_hipExtent(4, 3, 2);
  in.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&in));
  add_place<<<dim3(height, FAULT == 1 ? depth + 1 : depth), 32>>>((char*)volume.ptr, volume.pitch, width, height, depth);
  hipMemcpy3DParms out = {};
  out.srcPtr = volume;
  out.dstPtr = make_hipPitchedPtr(box, width, width, height);
  out.extent = make_hipExtent(width, height, depth);
  out.kind = hipMemcpyDeviceToHost;
  (void)hipMemcpy3DAsync(&out, 0);
  (void)hipDeviceSynchronize();
  for (int z = 0; z < depth; z++)
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        const bool inside = x >= 8 && x < 12 && y >= 1 && y < 4 && z >= 1;
        right = right && box[z][y][x] == (char)((inside ? 100 : 1) + x + 10 * y + 50 * z);
      }
  (void)hipFree(volume.ptr);
  int can = 1, count = 0;
  size_t limit = 0;
  (void)hipGetDeviceCount(&count);
  for (int peer = 0; peer < count; peer++) right = right && hipDeviceCanAccessPeer(&can, 0, peer) == hipSuccess && !can;
  right = right && hipDeviceEnablePeerAccess(1, 0) == hipErrorInvalidDevice;
  right = right && hipDeviceGetLimit(&limit, hipLimitPrintfFifoSize) == hipSuccess && limit == 1 << 20;
#if FAULT == 0
  int value = 7, *a, *b;
  CHECK(hipMalloc(&a, 4));
  CHECK(hipMalloc(&b, 4));
  CHECK(hipMemcpy(a, &value, 4, hipMemcpyHostToDevice));
  CHECK(hipMemcpyPeer(b, 0, a, 0, 4));
  CHECK(hipMemcpy(&value, b, 4, hipMemcpyDeviceToHost));
  CHECK(hipFree(a));
  CHECK(hipFree(b));
#endif
  return verdict(right);
}
