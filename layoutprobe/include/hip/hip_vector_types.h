// float4, uint2 and so on, with the alignment of HIP and element-wise operators.
#pragma once
#include <hip/layoutprobe_keywords.h>

#ifndef __cplusplus
typedef struct dim3 {
  unsigned x, y, z;
} dim3;
#else
// The compiler's own vectors; another compiler than clang, which sees host code alone, has none.
#if defined(__clang__)
#define LAYOUTPROBE_NATIVE(n) typedef T Native_vec_ __attribute__((ext_vector_type(n)))
#else
#define LAYOUTPROBE_NATIVE(n) typedef struct { T d[n]; } Native_vec_
#endif

// The members, and the same as one vector of the compiler.
template <typename T, unsigned n>
struct HIP_vector_base;

template <typename T>
struct HIP_vector_base<T, 1> {
  typedef T value_type;
  LAYOUTPROBE_NATIVE(1);
  union {
    Native_vec_ data;
    struct { T x; };
  };
  HIP_vector_base() = default;
  LAYOUTPROBE_MEMBER constexpr HIP_vector_base(T x_) : x(x_) {}
};

template <typename T>
struct alignas(2 * sizeof(T)) HIP_vector_base<T, 2> {
  typedef T value_type;
  LAYOUTPROBE_NATIVE(2);
  union {
    Native_vec_ data;
    struct { T x, y; };
  };
  HIP_vector_base() = default;
  LAYOUTPROBE_MEMBER constexpr HIP_vector_base(T x_, T y_) : x(x_), y(y_) {}
  LAYOUTPROBE_MEMBER constexpr explicit HIP_vector_base(T all) : x(all), y(all) {}
};

template <typename T>
struct HIP_vector_base<T, 3> {
  typedef T value_type;
  struct Native_vec_ { T d[3]; };  // the compiler's vector of three has the size of four
  union {
    Native_vec_ data;
    struct { T x, y, z; };
  };
  HIP_vector_base() = default;
  LAYOUTPROBE_MEMBER constexpr HIP_vector_base(T x_, T y_, T z_) : x(x_), y(y_), z(z_) {}
  LAYOUTPROBE_MEMBER constexpr explicit HIP_vector_base(T all) : x(all), y(all), z(all) {}
};

template <typename T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) HIP_vector_base<T, 4> {
  typedef T value_type;
  LAYOUTPROBE_NATIVE(4) __attribute__((aligned(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16)));
  union {
    Native_vec_ data;
    struct { T x, y, z, w; };
  };
  HIP_vector_base() = default;
  LAYOUTPROBE_MEMBER constexpr HIP_vector_base(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {}
  LAYOUTPROBE_MEMBER constexpr explicit HIP_vector_base(T all) : x(all), y(all), z(all), w(all) {}
};

template <typename T, unsigned n>
struct HIP_vector_type : HIP_vector_base<T, n> {
  using HIP_vector_base<T, n>::HIP_vector_base;
  HIP_vector_type() = default;

  LAYOUTPROBE_MEMBER HIP_vector_type& operator++() { return *this = *this + HIP_vector_type(T(1)); }
  LAYOUTPROBE_MEMBER HIP_vector_type& operator--() { return *this = *this - HIP_vector_type(T(1)); }
  LAYOUTPROBE_MEMBER HIP_vector_type operator++(int) {
    const HIP_vector_type before = *this;
    ++*this;
    return before;
  }
  LAYOUTPROBE_MEMBER HIP_vector_type operator--(int) {
    const HIP_vector_type before = *this;
    --*this;
    return before;
  }
};

#define LAYOUTPROBE_EACH(op)                                                                          \
  template <typename T>                                                                               \
  LAYOUTPROBE_BOTH constexpr HIP_vector_type<T, 1> operator op(HIP_vector_type<T, 1> a,               \
                                                               HIP_vector_type<T, 1> b) {             \
    return {T(a.x op b.x)};                                                                           \
  }                                                                                                   \
  template <typename T>                                                                               \
  LAYOUTPROBE_BOTH constexpr HIP_vector_type<T, 2> operator op(HIP_vector_type<T, 2> a,               \
                                                               HIP_vector_type<T, 2> b) {             \
    return {T(a.x op b.x), T(a.y op b.y)};                                                            \
  }                                                                                                   \
  template <typename T>                                                                               \
  LAYOUTPROBE_BOTH constexpr HIP_vector_type<T, 3> operator op(HIP_vector_type<T, 3> a,               \
                                                               HIP_vector_type<T, 3> b) {             \
    return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z)};                                             \
  }                                                                                                   \
  template <typename T>                                                                               \
  LAYOUTPROBE_BOTH constexpr HIP_vector_type<T, 4> operator op(HIP_vector_type<T, 4> a,               \
                                                               HIP_vector_type<T, 4> b) {             \
    return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z), T(a.w op b.w)};                              \
  }                                                                                                   \
  template <typename T, unsigned n>                                                                   \
  LAYOUTPROBE_BOTH constexpr HIP_vector_type<T, n> operator op(HIP_vector_type<T, n> a,               \
                                                               layoutprobe_same<T> b) {              \
    return a op HIP_vector_type<T, n>(b);                                                             \
  }                                                                                                   \
  template <typename T, unsigned n>                                                                   \
  LAYOUTPROBE_BOTH constexpr HIP_vector_type<T, n> operator op(layoutprobe_same<T> a,                \
                                                               HIP_vector_type<T, n> b) {             \
    return HIP_vector_type<T, n>(a) op b;                                                             \
  }                                                                                                   \
  template <typename T, unsigned n, typename U>                                                       \
  LAYOUTPROBE_BOTH constexpr HIP_vector_type<T, n>& operator op##=(HIP_vector_type<T, n>& a, U b) {   \
    return a = a op b;                                                                                \
  }

template <typename T>
struct layoutprobe_identity {
  typedef T type;
};
template <typename T>
using layoutprobe_same = typename layoutprobe_identity<T>::type;  // a scalar takes the vector's type

LAYOUTPROBE_EACH(+)
LAYOUTPROBE_EACH(-)
LAYOUTPROBE_EACH(*)
LAYOUTPROBE_EACH(/)
#undef LAYOUTPROBE_EACH

#define LAYOUTPROBE_VECTORS(type, name)                                              \
  typedef HIP_vector_type<type, 1> name##1;                                          \
  typedef HIP_vector_type<type, 2> name##2;                                          \
  typedef HIP_vector_type<type, 3> name##3;                                          \
  typedef HIP_vector_type<type, 4> name##4;                                          \
  LAYOUTPROBE_BOTH name##1 make_##name##1(type x) { return {x}; }                    \
  LAYOUTPROBE_BOTH name##2 make_##name##2(type x, type y) { return {x, y}; }         \
  LAYOUTPROBE_BOTH name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  LAYOUTPROBE_BOTH name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

LAYOUTPROBE_VECTORS(char, char)
LAYOUTPROBE_VECTORS(unsigned char, uchar)
LAYOUTPROBE_VECTORS(short, short)
LAYOUTPROBE_VECTORS(unsigned short, ushort)
LAYOUTPROBE_VECTORS(int, int)
LAYOUTPROBE_VECTORS(unsigned int, uint)
LAYOUTPROBE_VECTORS(long, long)
LAYOUTPROBE_VECTORS(unsigned long, ulong)
LAYOUTPROBE_VECTORS(long long, longlong)
LAYOUTPROBE_VECTORS(unsigned long long, ulonglong)
LAYOUTPROBE_VECTORS(float, float)
LAYOUTPROBE_VECTORS(double, double)
#undef LAYOUTPROBE_VECTORS

struct dim3 {
  unsigned x, y, z;
  LAYOUTPROBE_MEMBER constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x(x_), y(y_), z(z_) {}
};
#endif
