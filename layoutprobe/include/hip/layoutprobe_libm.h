// Functions of the C library for device code, where ROCm's device libraries are not: of doubles by reduction and
// series, within a few units in the last place, and of floats as those of doubles, rounded once, but erff.
// sin, cos and tan take arguments up to 2^30, and give NaN beyond. pow of doubles is within 2^-42.
#pragma once
#include <hip/layoutprobe_math.h>

// LLVM's own conversion of a NaN to an integer is undefined: NaN goes out first everywhere.
LAYOUTPROBE_DEVICE double layoutprobe_exp_series(double r) {  // (e^r - 1) / r for |r| < 0.35; the next term is below 2^-57
  double sum = 1.0 / 87178291200.0;
  const double factorials[] = {6227020800.0, 479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0,
                               720.0,        120.0,       24.0,       6.0,       2.0,      1.0};
#pragma unroll
  for (double factorial : factorials) sum = __builtin_fma(sum, r, 1.0 / factorial);
  return sum;
}
LAYOUTPROBE_DEVICE double exp(double x) {
  if (x != x) return x;
  if (x > 709.79) return __builtin_inf();
  if (x < -745.2) return 0.0;
  const double n = __builtin_rint(x * 1.4426950408889634);
  const double r = __builtin_fma(n, -0x1.abc9e3b39803fp-56, __builtin_fma(n, -0x1.62e42fefa39efp-1, x));  // ln 2
  return __builtin_ldexp(__builtin_fma(r, layoutprobe_exp_series(r), 1.0), int(n));
}
LAYOUTPROBE_DEVICE double expm1(double x) {
  return __builtin_fabs(x) < 0.35 ? x * layoutprobe_exp_series(x) : exp(x) - 1.0;
}
LAYOUTPROBE_DEVICE double exp2(double x) {
  const double n = __builtin_rint(x);
  if (!(__builtin_fabs(x) < 1100)) return exp(x);
  const double r = (x - n) * 0.69314718055994531;
  return __builtin_ldexp(__builtin_fma(r, layoutprobe_exp_series(r), 1.0), int(n));
}

// x = m 2^n with m in sqrt(1/2) ... sqrt(2); log m = 2 artanh((m - 1) / (m + 1)).
LAYOUTPROBE_DEVICE double layoutprobe_log_parts(double x, double& n) {
  double m = __builtin_amdgcn_frexp_mant(x);
  int exponent = __builtin_amdgcn_frexp_exp(x);
  if (m < 0.70710678118654752) m *= 2.0, --exponent;
  n = exponent;
  const double f = (m - 1.0) / (m + 1.0), s = f * f;
  double sum = 0.0;
#pragma unroll
  for (int k = 23; k >= 3; k -= 2) sum = __builtin_fma(sum, s, 1.0 / k);
  return __builtin_fma(2.0 * f * s, sum, 2.0 * f);
}
LAYOUTPROBE_DEVICE bool layoutprobe_log_special(double x, double& result) {
  if (x > 0.0 && x < __builtin_inf()) return false;
  result = x == 0.0 ? -__builtin_inf() : x < 0.0 ? __builtin_nan("") : x;
  return true;
}
LAYOUTPROBE_DEVICE double log(double x) {
  double n, result;
  if (layoutprobe_log_special(x, result)) return result;
  const double m = layoutprobe_log_parts(x, n);
  return __builtin_fma(n, 0x1.62e42fefa39efp-1, __builtin_fma(n, 0x1.abc9e3b39803fp-56, m));
}
LAYOUTPROBE_DEVICE double log2(double x) {
  double n, result;
  if (layoutprobe_log_special(x, result)) return result;
  const double m = layoutprobe_log_parts(x, n);
  return __builtin_fma(m, 1.4426950408889634, n);
}
LAYOUTPROBE_DEVICE double log10(double x) {
  double n, result;
  if (layoutprobe_log_special(x, result)) return result;
  const double m = layoutprobe_log_parts(x, n);
  return __builtin_fma(n, 0.30102999566398120, m * 0.43429448190325183);
}
LAYOUTPROBE_DEVICE double log1p(double x) {
  const double u = 1.0 + x;
  if (u == 1.0 || x == __builtin_inf()) return x;
  return log(u) + (x - (u - 1.0)) / u;
}

// |x| to a power; whole powers up to 32 by multiplication, so that what is exact comes out so.
LAYOUTPROBE_DEVICE double layoutprobe_power(double x, double y) {
  const double magnitude = __builtin_fabs(y);
  if (magnitude > 32.0 || magnitude != __builtin_rint(magnitude)) return exp(y * log(x));
  double result = 1.0;
  for (int left = int(magnitude); left; left >>= 1, x *= x)
    if (left & 1) result *= x;
  return y < 0.0 ? 1.0 / result : result;
}
LAYOUTPROBE_DEVICE double pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x != x || y != y) return x + y;
  const double size = __builtin_fabs(x);
  if (__builtin_fabs(y) == __builtin_inf()) return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? __builtin_inf() : 0.0;
  const bool whole = y == __builtin_rint(y), odd = whole && 0.5 * y != __builtin_rint(0.5 * y);
  const double result = layoutprobe_power(size, y);
  if (!(x < 0.0 || (x == 0.0 && 1.0 / x < 0.0))) return result;
  return odd ? -result : whole || x == 0.0 || size == __builtin_inf() ? result : __builtin_nan("");
}
LAYOUTPROBE_DEVICE double cbrt(double x) {
  const double size = __builtin_fabs(x);
  if (!(size > 0.0 && size < __builtin_inf())) return x;
  const double near = exp(log(size) * (1.0 / 3.0));
  return __builtin_copysign(near - (near * near * near - size) / (3.0 * near * near), x);
}

// x = n pi / 2 + r.
LAYOUTPROBE_DEVICE int layoutprobe_quarters(double x, double& r) {
  const double n = __builtin_rint(x * 0.63661977236758134);
  r = __builtin_fma(n, -0x1.921fb54442d18p0, x);
  r = __builtin_fma(n, -0x1.1a62633145c07p-54, r);
  r = __builtin_fma(n, 0x1.f1976b7ed8fbcp-110, r);
  return int(n);
}
LAYOUTPROBE_DEVICE double layoutprobe_sin_series(double r) {  // |r| < pi/4; the next term is below 2^-60
  const double s = r * r;
  double sum = 1.0 / 355687428096000.0;
  const double factorials[] = {-1307674368000.0, 6227020800.0, -39916800.0, 362880.0, -5040.0, 120.0, -6.0};
#pragma unroll
  for (double factorial : factorials) sum = __builtin_fma(sum, s, 1.0 / factorial);
  return __builtin_fma(r * s, sum, r);
}
LAYOUTPROBE_DEVICE double layoutprobe_cos_series(double r) {
  const double s = r * r;
  double sum = -1.0 / 6402373705728000.0;
  const double factorials[] = {20922789888000.0, -87178291200.0, 479001600.0, -3628800.0, 40320.0, -720.0, 24.0};
#pragma unroll
  for (double factorial : factorials) sum = __builtin_fma(sum, s, 1.0 / factorial);
  return __builtin_fma(s * s, sum, __builtin_fma(s, -0.5, 1.0));
}
LAYOUTPROBE_DEVICE void sincos(double x, double* sine, double* cosine) {
  if (!(__builtin_fabs(x) <= 1073741824.0)) {
    *sine = *cosine = __builtin_nan("");
    return;
  }
  double r;
  const int n = layoutprobe_quarters(x, r);
  const double s = layoutprobe_sin_series(r), c = layoutprobe_cos_series(r);
  *sine = n & 1 ? (n & 2 ? -c : c) : (n & 2 ? -s : s);
  *cosine = n & 1 ? (n & 2 ? s : -s) : (n & 2 ? -c : c);
}
LAYOUTPROBE_DEVICE double sin(double x) {
  double s, c;
  sincos(x, &s, &c);
  return s;
}
LAYOUTPROBE_DEVICE double cos(double x) {
  double s, c;
  sincos(x, &s, &c);
  return c;
}
// Of x times pi: what is left of whole turns is exact, and so is what is taken from half of one.
LAYOUTPROBE_DEVICE double sinpi(double x) {
  if (!(__builtin_fabs(x) < __builtin_inf())) return __builtin_nan("");
  double left = x - 2.0 * __builtin_rint(0.5 * x);
  if (__builtin_fabs(left) > 0.5) left = __builtin_copysign(1.0, left) - left;
  return __builtin_copysign(sin(3.141592653589793 * left), left);
}
LAYOUTPROBE_DEVICE double cospi(double x) {
  if (!(__builtin_fabs(x) < __builtin_inf())) return __builtin_nan("");
  return sinpi(0.5 - __builtin_fabs(x - 2.0 * __builtin_rint(0.5 * x)));
}
LAYOUTPROBE_DEVICE void sincospi(double x, double* sine, double* cosine) { *sine = sinpi(x), *cosine = cospi(x); }
LAYOUTPROBE_DEVICE double tan(double x) {
  double s, c;
  sincos(x, &s, &c);
  return s / c;
}

// By 1/x beyond 1, and by half of the angle, so that the series has |t| < 0.42.
LAYOUTPROBE_DEVICE double atan(double x) {
  const double size = __builtin_fabs(x), inner = size > 1.0 ? 1.0 / size : size;
  const double t = inner / (1.0 + __builtin_sqrt(__builtin_fma(inner, inner, 1.0))), s = t * t;
  double sum = 0.0;
#pragma unroll
  for (int k = 43; k >= 3; k -= 2) sum = __builtin_fma(-sum, s, 1.0 / k);
  const double angle = 2.0 * __builtin_fma(-t * s, sum, t);
  return __builtin_copysign(size > 1.0 ? 1.5707963267948966 - (angle - 6.123233995736766e-17) : angle, x);
}
LAYOUTPROBE_DEVICE double atan2(double y, double x) {
  if (x != x || y != y) return x + y;
  const bool left = __builtin_copysign(1.0, x) < 0.0;
  const double tall = __builtin_fabs(y), wide = __builtin_fabs(x);
  double angle = tall == 0.0 ? 0.0 : tall == wide ? 0.78539816339744831 : atan(tall / wide);
  if (left) angle = 3.1415926535897931 - (angle - 1.2246467991473532e-16);
  return __builtin_copysign(angle, y);
}
LAYOUTPROBE_DEVICE double asin(double x) { return atan2(x, __builtin_sqrt((1.0 - x) * (1.0 + x))); }
LAYOUTPROBE_DEVICE double acos(double x) { return atan2(__builtin_sqrt((1.0 - x) * (1.0 + x)), x); }

LAYOUTPROBE_DEVICE double sinh(double x) {
  const double half = exp(0.5 * __builtin_fabs(x));
  if (__builtin_fabs(x) < 0.35) return 0.5 * (expm1(x) - expm1(-x));
  return __builtin_copysign(0.5 * half * half - 0.5 / half / half, x);
}
LAYOUTPROBE_DEVICE double cosh(double x) {
  const double half = exp(0.5 * __builtin_fabs(x));
  return 0.5 * half * half + 0.5 / half / half;
}
LAYOUTPROBE_DEVICE double tanh(double x) {
  if (__builtin_fabs(x) > 22.0) return __builtin_copysign(1.0, x);
  const double e = expm1(2.0 * x);
  return e / (e + 2.0);
}

// Within 3 of 0 a series of terms of one sign, beyond it a continued fraction.
LAYOUTPROBE_DEVICE double layoutprobe_erfc_far(double x) {
  double below = 0.0;
#pragma clang loop unroll(disable)
  for (int k = 40; k; --k) below = 0.5 * k / (x + below);
  return exp(-x * x) / ((x + below) * 1.7724538509055160);
}
LAYOUTPROBE_DEVICE double erf(double x) {
  const double size = __builtin_fabs(x);
  if (size >= 3.0) return __builtin_copysign(1.0 - layoutprobe_erfc_far(size), x);
  double term = x, sum = x;
#pragma clang loop unroll(disable)
  for (int k = 1; k < 50; ++k) {
    term *= 2.0 * x * x / (2 * k + 1);
    sum += term;
  }
  return 1.1283791670955126 * exp(-x * x) * sum;
}
LAYOUTPROBE_DEVICE double erfc(double x) { return x >= 3.0 ? layoutprobe_erfc_far(x) : 1.0 - erf(x); }
// GELU calls it for every element: no doubles, no loop, no branch; within 1.5 units in the last place. The polynomials
// are least squares with weights made even (Lawson): of erf(x)/x - 1 in x^2, and beyond 0.9 of -log2 erfc(x) in x.
LAYOUTPROBE_DEVICE float erff(float x) {
  const float size = __builtin_fabsf(x), s = x * x, clipped = size > 4.0f ? 4.0f : size;
  float near = 0x1.6624eep-14f, far = 0x1.f82736p-16f;
  const float nearer[] = {-0x1.acf7ecp-11f, 0x1.5513f2p-8f, -0x1.b8162ap-6f, 0x1.ce2e6p-4f, -0x1.812744p-2f, 0x1.06eba8p-3f};
  const float farther[] = {-0x1.464dc4p-11f, 0x1.88f81ep-8f, -0x1.286adp-5f,  0x1.3fc09ep-3f,
                           0x1.d3de24p-1f,   0x1.a12764p+0f, -0x1.fff414p-13f};
#pragma unroll
  for (float term : nearer) near = __builtin_fmaf(near, s, term);
#pragma unroll
  for (float term : farther) far = __builtin_fmaf(far, clipped, term);
  const float beyond = __builtin_copysignf(1.0f - __builtin_amdgcn_exp2f(-far), x);
  return size < 0.9f ? __builtin_fmaf(x, near, x) : beyond;
}
LAYOUTPROBE_DEVICE float erf(float x) { return erff(x); }

// Exact: what is taken away is y times a power of two, and no more than half of it is left.
LAYOUTPROBE_DEVICE double fmod(double x, double y) {
  double left = __builtin_fabs(x);
  const double step = __builtin_fabs(y);
  if (!(left < __builtin_inf()) || !(step > 0.0)) return __builtin_nan("");
  if (step == __builtin_inf()) return x;
  while (left >= step) {
    double part = __builtin_ldexp(step, __builtin_amdgcn_frexp_exp(left) - __builtin_amdgcn_frexp_exp(step));
    if (part > left) part *= 0.5;
    left -= part;
  }
  return __builtin_copysign(left, x);
}
LAYOUTPROBE_DEVICE double hypot(double x, double y) {
  const double a = __builtin_fabs(x), b = __builtin_fabs(y), most = a > b ? a : b, least = a > b ? b : a;
  if (most == 0.0 || most == __builtin_inf()) return most;
  return most * __builtin_sqrt(__builtin_fma(least / most, least / most, 1.0));
}
LAYOUTPROBE_DEVICE double remainder(double x, double y) {
  const double step = __builtin_fabs(y);
  double left = __builtin_fabs(step <= 0x1p1022 ? fmod(x, step + step) : x);
  if (!(left < __builtin_inf()) || !(step > 0.0)) return __builtin_nan("");
  if (left > 0.5 * step) left -= step, left -= left >= 0.5 * step ? step : 0.0;
  return __builtin_signbit(x) ? -left : left;
}
LAYOUTPROBE_DEVICE double asinh(double x) {
  const double a = __builtin_fabs(x);
  const double sum = a < 0x1p500 ? log1p(a + a * a / (1.0 + __builtin_sqrt(a * a + 1.0))) : log(a) + 0.693147180559945309;
  return __builtin_copysign(sum, x);
}
LAYOUTPROBE_DEVICE double acosh(double x) {
  const double t = x - 1.0;
  return x < 0x1p500 ? log1p(t + __builtin_sqrt(2.0 * t + t * t)) : log(x) + 0.693147180559945309;
}
LAYOUTPROBE_DEVICE double atanh(double x) {
  const double a = __builtin_fabs(x);
  return __builtin_copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
}
LAYOUTPROBE_DEVICE double rcbrt(double x) { return 1.0 / cbrt(x); }
LAYOUTPROBE_DEVICE double normcdf(double x) { return 0.5 * erfc(x * -0.707106781186547524); }
LAYOUTPROBE_DEVICE double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
LAYOUTPROBE_DEVICE double frexp(double x, int* exponent) {
  const bool finite = __builtin_fabs(x) < __builtin_inf();
  *exponent = finite ? __builtin_amdgcn_frexp_exp(x) : 0;
  return finite ? __builtin_amdgcn_frexp_mant(x) : x;
}
LAYOUTPROBE_DEVICE double modf(double x, double* whole) {
  *whole = __builtin_trunc(x);
  return __builtin_copysign(__builtin_fabs(x) < __builtin_inf() ? x - *whole : x != x ? x : 0.0, x);
}
LAYOUTPROBE_DEVICE int ilogb(double x) {
  if (x == 0.0) return -2147483647 - 1;
  return __builtin_fabs(x) < __builtin_inf() ? __builtin_amdgcn_frexp_exp(x) - 1 : 2147483647;
}
LAYOUTPROBE_DEVICE double logb(double x) {
  if (x == 0.0) return -__builtin_inf();
  return __builtin_fabs(x) < __builtin_inf() ? double(ilogb(x)) : x * x;
}

#define LAYOUTPROBE_FLOATS(name)                                                       \
  LAYOUTPROBE_DEVICE float name##f(float a) { return float(name(double(a))); }         \
  LAYOUTPROBE_DEVICE float name(float a) { return name##f(a); }
LAYOUTPROBE_FLOATS(expm1)
LAYOUTPROBE_FLOATS(log1p)
LAYOUTPROBE_FLOATS(cbrt)
LAYOUTPROBE_FLOATS(sin)
LAYOUTPROBE_FLOATS(cos)
LAYOUTPROBE_FLOATS(tan)
LAYOUTPROBE_FLOATS(sinpi)
LAYOUTPROBE_FLOATS(asinh)
LAYOUTPROBE_FLOATS(acosh)
LAYOUTPROBE_FLOATS(atanh)
LAYOUTPROBE_FLOATS(rcbrt)
LAYOUTPROBE_FLOATS(normcdf)
LAYOUTPROBE_FLOATS(logb)
LAYOUTPROBE_FLOATS(cospi)
LAYOUTPROBE_FLOATS(asin)
LAYOUTPROBE_FLOATS(acos)
LAYOUTPROBE_FLOATS(atan)
LAYOUTPROBE_FLOATS(sinh)
LAYOUTPROBE_FLOATS(cosh)
LAYOUTPROBE_FLOATS(erfc)
#undef LAYOUTPROBE_FLOATS
LAYOUTPROBE_DEVICE float tanh(float a) { return tanhf(a); }
LAYOUTPROBE_DEVICE float exp2(float a) { return __builtin_exp2f(a); }
LAYOUTPROBE_DEVICE float log2(float a) { return __builtin_log2f(a); }
LAYOUTPROBE_DEVICE float log10(float a) { return __builtin_log10f(a); }
#define LAYOUTPROBE_FLOATS(name)                                                                      \
  LAYOUTPROBE_DEVICE float name##f(float a, float b) { return float(name(double(a), double(b))); }     \
  LAYOUTPROBE_DEVICE float name(float a, float b) { return name##f(a, b); }
LAYOUTPROBE_FLOATS(pow)
LAYOUTPROBE_FLOATS(atan2)
LAYOUTPROBE_FLOATS(fmod)
LAYOUTPROBE_FLOATS(hypot)
LAYOUTPROBE_FLOATS(rhypot)
LAYOUTPROBE_FLOATS(remainder)
#undef LAYOUTPROBE_FLOATS
LAYOUTPROBE_DEVICE void sincosf(float x, float* sine, float* cosine) {
  double s, c;
  sincos(double(x), &s, &c);
  *sine = float(s), *cosine = float(c);
}
LAYOUTPROBE_DEVICE void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
LAYOUTPROBE_DEVICE void __sincosf(float x, float* sine, float* cosine) { *sine = __sinf(x), *cosine = __cosf(x); }
LAYOUTPROBE_DEVICE float frexpf(float x, int* exponent) { return float(frexp(double(x), exponent)); }
LAYOUTPROBE_DEVICE float modff(float x, float* whole) {
  double all;
  const float part = float(modf(double(x), &all));
  *whole = float(all);
  return part;
}
LAYOUTPROBE_DEVICE int ilogbf(float x) { return ilogb(double(x)); }
LAYOUTPROBE_DEVICE float scalbnf(float x, int by) { return __builtin_ldexpf(x, by); }
LAYOUTPROBE_DEVICE double scalbn(double x, int by) { return __builtin_ldexp(x, by); }
LAYOUTPROBE_DEVICE float norm3df(float x, float y, float z) {
  return float(__builtin_sqrt(double(x) * x + double(y) * y + double(z) * z));
}
LAYOUTPROBE_DEVICE float rnorm3df(float x, float y, float z) {
  return float(1.0 / __builtin_sqrt(double(x) * x + double(y) * y + double(z) * z));
}
LAYOUTPROBE_DEVICE float __tanf(float x) { return __sinf(x) / __cosf(x); }
LAYOUTPROBE_DEVICE float fdividef(float a, float b) { return a / b; }
LAYOUTPROBE_DEVICE float powif(float x, int by) { return powf(x, float(by)); }
LAYOUTPROBE_DEVICE bool signbit(float a) { return __builtin_signbit(a); }
LAYOUTPROBE_DEVICE bool signbit(double a) { return __builtin_signbit(a); }
LAYOUTPROBE_DEVICE float nanf(const char*) { return __builtin_nanf(""); }
LAYOUTPROBE_DEVICE double nan(const char*) { return __builtin_nan(""); }
LAYOUTPROBE_DEVICE long long llrintf(float a) { return (long long)__builtin_rintf(a); }
LAYOUTPROBE_DEVICE long long llroundf(float a) { return (long long)__builtin_roundf(a); }
LAYOUTPROBE_DEVICE float fdimf(float a, float b) { return a > b ? a - b : 0.0f; }
LAYOUTPROBE_DEVICE long lrintf(float a) { return long(__builtin_rintf(a)); }
LAYOUTPROBE_DEVICE long lroundf(float a) { return long(__builtin_roundf(a)); }

// Integers, and numbers of two types: as doubles, as C++ has it.
template <bool holds, typename T>
struct layoutprobe_enabled {};
template <typename T>
struct layoutprobe_enabled<true, T> {
  typedef T type;
};
#define LAYOUTPROBE_OF_INTEGERS(name)                                                                       \
  template <typename T>                                                                                     \
  LAYOUTPROBE_DEVICE typename layoutprobe_enabled<__is_integral(T), double>::type name(T a) {               \
    return name(double(a));                                                                                 \
  }
LAYOUTPROBE_OF_INTEGERS(sqrt)
LAYOUTPROBE_OF_INTEGERS(exp)
LAYOUTPROBE_OF_INTEGERS(log)
LAYOUTPROBE_OF_INTEGERS(log2)
LAYOUTPROBE_OF_INTEGERS(log10)
LAYOUTPROBE_OF_INTEGERS(sin)
LAYOUTPROBE_OF_INTEGERS(cos)
LAYOUTPROBE_OF_INTEGERS(tan)
LAYOUTPROBE_OF_INTEGERS(floor)
LAYOUTPROBE_OF_INTEGERS(ceil)
LAYOUTPROBE_OF_INTEGERS(fabs)
#undef LAYOUTPROBE_OF_INTEGERS
#define LAYOUTPROBE_OF_TWO(name)                                                                                 \
  template <typename T, typename U>                                                                              \
  LAYOUTPROBE_DEVICE typename layoutprobe_enabled<                                                               \
      __is_arithmetic(T) && __is_arithmetic(U) && !(__is_floating_point(T) && __is_same(T, U)), double>::type    \
  name(T a, U b) {                                                                                               \
    return name(double(a), double(b));                                                                           \
  }
LAYOUTPROBE_OF_TWO(pow)
LAYOUTPROBE_OF_TWO(atan2)
LAYOUTPROBE_OF_TWO(fmod)
LAYOUTPROBE_OF_TWO(hypot)
#undef LAYOUTPROBE_OF_TWO

// The same names in std, for device code beside a C++ library of the host.
#if defined(LAYOUTPROBE_HIPCC)
namespace std {
using ::abs;
using ::acos;
using ::asin;
using ::atan;
using ::atan2;
using ::cbrt;
using ::ceil;
using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::exp2;
using ::expm1;
using ::fabs;
using ::floor;
using ::fma;
using ::fmax;
using ::fmin;
using ::fmod;
using ::hypot;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::pow;
using ::rint;
using ::round;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
using ::trunc;
}  // namespace std
#endif
