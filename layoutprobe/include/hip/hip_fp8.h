// Floats of 8 bits, OCP's and AMD's own (fnuz), with conversions by arithmetic: right on every target, and slower
// than the instructions that some have. To float exactly; from float to the nearest even, saturating.
#pragma once
#include <hip/layoutprobe_keywords.h>

typedef unsigned char __hip_fp8_storage_t;

template <int kExponent, int kMantissa, bool kFnuz>
struct layoutprobe_fp8 {
  static constexpr int kBias = (1 << (kExponent - 1)) - (kFnuz ? 0 : 1);
  static constexpr bool kInfinite = !kFnuz && kExponent == 5;
  // The largest code that is a number, without its sign.
  static constexpr int kLargest = kFnuz ? 0x7f : kInfinite ? 0x7b : 0x7e;

  static LAYOUTPROBE_MEMBER float decode(__hip_fp8_storage_t code) {
    const int magnitude = code & 0x7f, exponent = magnitude >> kMantissa;
    const int mantissa = magnitude & ((1 << kMantissa) - 1);
    if (kFnuz ? code == 0x80 : magnitude > kLargest) {
      const bool infinite = kInfinite && magnitude == 0x7c;
      return infinite ? (code & 0x80 ? -__builtin_inff() : __builtin_inff()) : __builtin_nanf("");
    }
    const float value = exponent ? scaled((1 << kMantissa) + mantissa, exponent - kBias - kMantissa)
                                 : scaled(mantissa, 1 - kBias - kMantissa);
    return code & 0x80 ? -value : value;
  }

  static LAYOUTPROBE_MEMBER __hip_fp8_storage_t encode(float value) {
    const unsigned bits = __builtin_bit_cast(unsigned, value), sign = bits >> 24 & 0x80;
    if (value != value) return kFnuz ? 0x80 : 0x7f;
    // Codes ascend with what they stand for: the largest that is not above, then the nearer neighbour.
    const float size = __builtin_fabsf(value);
    int low = 0, high = kLargest;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (decode(middle) <= size) low = middle; else high = middle - 1;
    }
    if (low < kLargest) {
      const float below = size - decode(low), above = decode(low + 1) - size;
      if (above < below || (above == below && low & 1)) ++low;
    }
    return low ? low | sign : kFnuz ? 0 : sign;
  }

 private:
  static LAYOUTPROBE_MEMBER float scaled(int number, int exponent) {
    return number * __builtin_bit_cast(float, unsigned(127 + exponent) << 23);
  }
};

#define LAYOUTPROBE_FP8(name, exponent, mantissa, fnuz)                                         \
  struct name {                                                                                 \
    __hip_fp8_storage_t __x;                                                                    \
    name() = default;                                                                           \
    LAYOUTPROBE_MEMBER name(float value)                                                        \
        : __x(layoutprobe_fp8<exponent, mantissa, fnuz>::encode(value)) {}                      \
    LAYOUTPROBE_MEMBER operator float() const {                                                 \
      return layoutprobe_fp8<exponent, mantissa, fnuz>::decode(__x);                            \
    }                                                                                           \
  };
LAYOUTPROBE_FP8(__hip_fp8_e4m3, 4, 3, false)
LAYOUTPROBE_FP8(__hip_fp8_e5m2, 5, 2, false)
LAYOUTPROBE_FP8(__hip_fp8_e4m3_fnuz, 4, 3, true)
LAYOUTPROBE_FP8(__hip_fp8_e5m2_fnuz, 5, 2, true)
#undef LAYOUTPROBE_FP8
