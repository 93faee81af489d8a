// Naive vs tiled sgemm, my first HIP program :)
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using std::cout;
using std::endl;

__global__ void sgemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  const unsigned int x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) {
      tmp += A[x * K + i] * B[i * N + y];
    }
    // C = alpha * (A @ B) + beta * C
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

class Timer {
  std::chrono::high_resolution_clock::time_point t0 = std::chrono::high_resolution_clock::now();

 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::high_resolution_clock::now() - t0).count();
  }
};

struct Freer {
  void operator()(float *p) const { (void)hipFree(p); }
};
using DevicePtr = std::unique_ptr<float, Freer>;

DevicePtr upload(const std::vector<float> &v) {
  float *p = nullptr;
  (void)hipMalloc((void **)&p, v.size() * sizeof(float));
  (void)hipMemcpy(p, v.data(), v.size() * sizeof(float), hipMemcpyHostToDevice);
  return DevicePtr(p);
}

int main(int argc, char **argv) {
  std::map<std::string, int> size{{"M", 1000}, {"N", 1000}, {"K", 1000}};
  for (int i = 1; i + 1 < argc; i += 2) size[argv[i]] = std::stoi(argv[i + 1]);
  int M = size["M"], N = size["N"], K = size["K"];
  float alpha = 1.5f, beta = 0.5f;
  std::default_random_engine rng(123);
  std::uniform_real_distribution<float> uniform(-1, 1);
  auto fill = [&](size_t n) {
    std::vector<float> v(n);
    std::generate(v.begin(), v.end(), [&] { return uniform(rng); });
    return v;
  };
  auto a = fill(M * K), b = fill(K * N), c = fill(M * N);
  auto dA = upload(a), dB = upload(b), dC = upload(c);
  dim3 blockDim(16, 16);
  dim3 gridDim((M + 15) / 16, (N + 15) / 16);
  Timer timer;
  sgemm<<<gridDim, blockDim>>>(M, N, K, alpha, dA.get(), dB.get(), beta, dC.get());
  (void)hipDeviceSynchronize();
  cout << "took " << timer.ms() << " ms" << endl;
  std::vector<float> got(M * N);
  (void)hipMemcpy(got.data(), dC.get(), got.size() * sizeof(float), hipMemcpyDeviceToHost);
  double err = 0;
  for (int i = 0; i < std::min(M, 10); i++)
    for (int j = 0; j < N; j++) {
      double want = beta * c[i * N + j];
      for (int k = 0; k < K; k++) want += (double)alpha * a[i * K + k] * b[k * N + j];
      err = std::max(err, std::abs(want - got[i * N + j]));
    }
  cout << "error " << err << endl;
  return err > 1e-2;
}
