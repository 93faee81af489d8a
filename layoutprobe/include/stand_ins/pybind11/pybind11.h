// pybind11, as far as a kernel's file needs it to be parsed; a stand-in of layoutprobe's, see layoutprobe_torch.h.
#pragma once

namespace pybind11 {
struct arg {
  explicit arg(const char*) {}
  template <typename T> arg& operator=(T&&) { return *this; }
};
inline namespace literals {
inline arg operator""_a(const char* name, unsigned long) { return arg(name); }
}  // namespace literals
struct module_ {
  template <typename... T> module_& def(T&&...) { return *this; }
};
using module = module_;
}  // namespace pybind11
namespace py = pybind11;
#define PYBIND11_MODULE(name, m) [[maybe_unused]] static void layoutprobe_module(pybind11::module_& m)
