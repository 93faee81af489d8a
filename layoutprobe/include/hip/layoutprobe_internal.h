// Names of HIP's own implementation that libraries in its mode for runtime compilation use (rocWMMA does).
#pragma once
#include <hip/layoutprobe_keywords.h>

namespace __hip_internal {
using ::int8_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::uint8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;

template <typename T>
struct is_standard_layout {
  static constexpr bool value = __is_standard_layout(T);
};
template <typename T>
struct is_trivial {
  static constexpr bool value = __is_trivially_copyable(T) && __is_trivially_constructible(T);
};
}  // namespace __hip_internal
