// What a kernel's file with a PyTorch binding needs to be parsed. Nothing here runs: the tool compiles device code
// alone, and reads host code for the kernels, and instances of templates, that it launches.
//
// These headers belong to layoutprobe. Tensors, options and guards have the members that bindings use; what is called
// returns a value of its type, and macros that check or register vanish. An AT_DISPATCH macro instantiates its lambda
// for each of its types.
#pragma once
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include "layoutprobe_cuda.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace c10 {
// As PyTorch has it: what two of a type give is rounded to it, and so is what one and an integer give.
#define LAYOUTPROBE_MIXED(name, other, result, op)                                                      \
  friend __host__ __device__ result operator op(name a, other b) { return result(result(a) op result(b)); } \
  friend __host__ __device__ result operator op(other a, name b) { return result(result(a) op result(b)); }
#define LAYOUTPROBE_ARITHMETIC(name, op)                                                                \
  friend __host__ __device__ name operator op(name a, name b) { return float(a) op float(b); }          \
  friend __host__ __device__ name& operator op##=(name& a, name b) { return a = a op b; }               \
  LAYOUTPROBE_MIXED(name, float, float, op) LAYOUTPROBE_MIXED(name, double, double, op)                 \
  friend __host__ __device__ name operator op(name a, int b) { return a op name(b); }                   \
  friend __host__ __device__ name operator op(int a, name b) { return name(a) op b; }                   \
  friend __host__ __device__ name operator op(name a, std::int64_t b) { return a op name(b); }          \
  friend __host__ __device__ name operator op(std::int64_t a, name b) { return name(a) op b; }
#define LAYOUTPROBE_FLOAT16(name, storage)                                      \
  struct alignas(2) name {                                                      \
    storage x;                                                                  \
    name() = default;                                                           \
    __host__ __device__ name(float value) : x(static_cast<storage>(value)) {}   \
    __host__ __device__ operator float() const { return static_cast<float>(x); } \
    friend __host__ __device__ name operator-(name a) { return -float(a); }     \
    LAYOUTPROBE_ARITHMETIC(name, +) LAYOUTPROBE_ARITHMETIC(name, -)             \
    LAYOUTPROBE_ARITHMETIC(name, *) LAYOUTPROBE_ARITHMETIC(name, /)             \
  };
LAYOUTPROBE_FLOAT16(Half, _Float16)
LAYOUTPROBE_FLOAT16(BFloat16, __bf16)
#undef LAYOUTPROBE_FLOAT16
#undef LAYOUTPROBE_ARITHMETIC
#undef LAYOUTPROBE_MIXED
struct Float8_e4m3fn { std::uint8_t x; };
struct Float8_e5m2 { std::uint8_t x; };
struct Float8_e4m3fnuz { std::uint8_t x; };
struct Float8_e5m2fnuz { std::uint8_t x; };

enum class ScalarType { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16, Float8_e4m3fn,
                        Float8_e5m2, Float8_e4m3fnuz, Float8_e5m2fnuz };
enum class DeviceType { CPU, CUDA, HIP };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kHIP = DeviceType::HIP;
constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kShort = ScalarType::Short,
                     kInt = ScalarType::Int, kLong = ScalarType::Long, kHalf = ScalarType::Half,
                     kFloat = ScalarType::Float, kDouble = ScalarType::Double, kBool = ScalarType::Bool,
                     kBFloat16 = ScalarType::BFloat16, kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort,
                     kInt32 = kInt, kInt64 = kLong, kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble,
                     kFloat8_e4m3fn = ScalarType::Float8_e4m3fn, kFloat8_e5m2 = ScalarType::Float8_e5m2;
using DeviceIndex = signed char;
struct Device {
  Device(DeviceType = kCPU, DeviceIndex = 0) {}
  bool is_cuda() const { return true; }
  DeviceIndex index() const { return 0; }
  DeviceType type() const { return kCUDA; }
  bool operator==(const Device&) const { return true; }
  bool operator!=(const Device&) const { return false; }
};

struct IntArrayRef {
  IntArrayRef() = default;
  IntArrayRef(std::initializer_list<std::int64_t>) {}
  IntArrayRef(const std::vector<std::int64_t>&) {}
  std::int64_t operator[](std::size_t) const { return 1; }
  std::size_t size() const { return 1; }
  std::vector<std::int64_t> vec() const { return {}; }
};

struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(ScalarType) {}
  TensorOptions(Device) {}
  TensorOptions dtype(ScalarType) const { return *this; }
  TensorOptions device(Device, DeviceIndex = 0) const { return *this; }
  TensorOptions device(DeviceType, DeviceIndex = 0) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }
};
template <typename... T> using optional = std::optional<T...>;
constexpr std::nullopt_t nullopt = std::nullopt;
}  // namespace c10

namespace at {
using namespace c10;

struct Tensor {
  std::int64_t size(std::int64_t) const { return 1; }
  std::int64_t stride(std::int64_t) const { return 1; }
  IntArrayRef sizes() const { return {}; }
  IntArrayRef strides() const { return {}; }
  std::int64_t numel() const { return 1; }
  std::int64_t dim() const { return 2; }
  std::int64_t ndimension() const { return 2; }
  std::int64_t nbytes() const { return 1; }
  std::int64_t element_size() const { return 1; }
  std::int64_t storage_offset() const { return 0; }
  ScalarType scalar_type() const { return kHalf; }
  ScalarType dtype() const { return kHalf; }
  Device device() const { return {}; }
  DeviceIndex get_device() const { return 0; }
  TensorOptions options() const { return {}; }
  bool is_cuda() const { return true; }
  bool is_contiguous() const { return true; }
  bool defined() const { return true; }
  template <typename T> T* data_ptr() const { return nullptr; }
  template <typename T> T* mutable_data_ptr() const { return nullptr; }
  template <typename T> const T* const_data_ptr() const { return nullptr; }
  template <typename T> T* data() const { return nullptr; }
  void* data_ptr() const { return nullptr; }
  void* mutable_data_ptr() const { return nullptr; }
  const void* const_data_ptr() const { return nullptr; }
  template <typename T> T item() const { return T(); }
  // What makes another tensor takes whatever it is given.
#define LAYOUTPROBE_MAKES(name) \
  template <typename... T> Tensor name(T&&...) const { return *this; }
  LAYOUTPROBE_MAKES(contiguous) LAYOUTPROBE_MAKES(view) LAYOUTPROBE_MAKES(reshape) LAYOUTPROBE_MAKES(transpose)
  LAYOUTPROBE_MAKES(permute) LAYOUTPROBE_MAKES(t) LAYOUTPROBE_MAKES(to) LAYOUTPROBE_MAKES(cuda) LAYOUTPROBE_MAKES(cpu)
  LAYOUTPROBE_MAKES(zero_) LAYOUTPROBE_MAKES(fill_) LAYOUTPROBE_MAKES(copy_) LAYOUTPROBE_MAKES(clone)
  LAYOUTPROBE_MAKES(unsqueeze) LAYOUTPROBE_MAKES(squeeze) LAYOUTPROBE_MAKES(narrow) LAYOUTPROBE_MAKES(select)
  LAYOUTPROBE_MAKES(slice) LAYOUTPROBE_MAKES(flatten) LAYOUTPROBE_MAKES(expand) LAYOUTPROBE_MAKES(half)
  LAYOUTPROBE_MAKES(detach) LAYOUTPROBE_MAKES(sum) LAYOUTPROBE_MAKES(max) LAYOUTPROBE_MAKES(add_)
#undef LAYOUTPROBE_MAKES
  Tensor operator[](std::int64_t) const { return *this; }
};

#define LAYOUTPROBE_MAKES(name) \
  template <typename... T> Tensor name(IntArrayRef, T&&...) { return {}; }
LAYOUTPROBE_MAKES(empty) LAYOUTPROBE_MAKES(zeros) LAYOUTPROBE_MAKES(ones) LAYOUTPROBE_MAKES(randn) LAYOUTPROBE_MAKES(full)
#undef LAYOUTPROBE_MAKES
#define LAYOUTPROBE_MAKES(name) \
  template <typename... T> Tensor name(const Tensor&, T&&...) { return {}; }
LAYOUTPROBE_MAKES(empty_like) LAYOUTPROBE_MAKES(zeros_like) LAYOUTPROBE_MAKES(ones_like) LAYOUTPROBE_MAKES(matmul)
#undef LAYOUTPROBE_MAKES
inline Device device_of(const Tensor&) { return {}; }
}  // namespace at

namespace torch {
using namespace at;
struct Library {
  template <typename... T> Library& def(T&&...) { return *this; }
  template <typename... T> Library& impl(T&&...) { return *this; }
};
enum class DispatchKey { CUDA, CPU };
}  // namespace torch

// Streams and guards, by HIP's names and by those that are turned into them.
namespace c10::hip {
struct HIPStream {
  hipStream_t stream() const { return nullptr; }
  operator hipStream_t() const { return nullptr; }
};
struct HIPGuard {
  template <typename... T> explicit HIPGuard(T&&...) {}
};
using CUDAStream = HIPStream;
using CUDAGuard = HIPGuard;
using OptionalHIPGuard = HIPGuard;
using OptionalCUDAGuard = HIPGuard;
using OptionalHIPGuardMasqueradingAsCUDA = HIPGuard;
using HIPGuardMasqueradingAsCUDA = HIPGuard;
inline HIPStream getCurrentHIPStream(int = 0) { return {}; }
inline HIPStream getCurrentCUDAStream(int = 0) { return {}; }
inline HIPStream getCurrentHIPStreamMasqueradingAsCUDA(int = 0) { return {}; }
inline hipDeviceProp_t* getCurrentDeviceProperties() { return nullptr; }
}  // namespace c10::hip
namespace c10::cuda { using namespace c10::hip; }
namespace at::hip { using namespace c10::hip; }
namespace at::cuda { using namespace c10::hip; }

#define LAYOUTPROBE_NOTHING(...) (void)0
#define TORCH_CHECK(condition, ...) (void)(condition)
#define TORCH_INTERNAL_ASSERT(condition, ...) (void)(condition)
#define AT_ASSERTM(condition, ...) (void)(condition)
#define AT_ASSERT(condition, ...) (void)(condition)
#define TORCH_CHECK_EQ(a, b) (void)((a) == (b))
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) (void)(condition)
#define TORCH_WARN LAYOUTPROBE_NOTHING
#define AT_ERROR LAYOUTPROBE_NOTHING
#define C10_HIP_CHECK(call) (void)(call)
#define C10_CUDA_CHECK(call) (void)(call)
#define AT_CUDA_CHECK(call) (void)(call)
#define C10_HIP_KERNEL_LAUNCH_CHECK() (void)hipGetLastError()
#define C10_CUDA_KERNEL_LAUNCH_CHECK() (void)hipGetLastError()
#define TORCH_LIBRARY(space, m) [[maybe_unused]] static void layoutprobe_library_##space(torch::Library& m)
#define TORCH_LIBRARY_FRAGMENT(space, m) [[maybe_unused]] static void layoutprobe_fragment_##space(torch::Library& m)
#define TORCH_LIBRARY_IMPL(space, key, m) \
  [[maybe_unused]] static void layoutprobe_impl_##space##key(torch::Library& m)
#ifndef TORCH_EXTENSION_NAME
#define TORCH_EXTENSION_NAME extension
#endif

#define LAYOUTPROBE_WITH(type, ...) \
  {                                 \
    using scalar_t = type;          \
    (void)(__VA_ARGS__)();          \
  }
#define AT_DISPATCH_FLOATING_TYPES(kind, name, ...) \
  do { LAYOUTPROBE_WITH(float, __VA_ARGS__) LAYOUTPROBE_WITH(double, __VA_ARGS__) } while (0)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(kind, name, ...) \
  do { LAYOUTPROBE_WITH(float, __VA_ARGS__) LAYOUTPROBE_WITH(c10::Half, __VA_ARGS__) } while (0)
#define AT_DISPATCH_FLOATING_TYPES_AND2(one, other, kind, name, ...)                       \
  do {                                                                                     \
    LAYOUTPROBE_WITH(float, __VA_ARGS__) LAYOUTPROBE_WITH(c10::Half, __VA_ARGS__)          \
    LAYOUTPROBE_WITH(c10::BFloat16, __VA_ARGS__)                                           \
  } while (0)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(kind, name, ...) \
  do { LAYOUTPROBE_WITH(c10::Half, __VA_ARGS__) LAYOUTPROBE_WITH(c10::BFloat16, __VA_ARGS__) } while (0)

#include <pybind11/pybind11.h>
