// Complex numbers as HIP has them: float2 and double2 under names of their own.
#pragma once
#include <hip/hip_runtime.h>

typedef float2 hipFloatComplex;
typedef double2 hipDoubleComplex;
typedef hipFloatComplex hipComplex;

#define LAYOUTPROBE_COMPLEX(type, real, suffix, root)                                                            \
  LAYOUTPROBE_BOTH type make_##type(real re, real im) {                                                          \
    type made;                                                                                                   \
    made.x = re, made.y = im;                                                                                    \
    return made;                                                                                                 \
  }                                                                                                              \
  LAYOUTPROBE_BOTH real hipCreal##suffix(type z) { return z.x; }                                                 \
  LAYOUTPROBE_BOTH real hipCimag##suffix(type z) { return z.y; }                                                 \
  LAYOUTPROBE_BOTH type hipConj##suffix(type z) { return make_##type(z.x, -z.y); }                               \
  LAYOUTPROBE_BOTH real hipCsqabs##suffix(type z) { return z.x * z.x + z.y * z.y; }                              \
  LAYOUTPROBE_BOTH real hipCabs##suffix(type z) { return root(hipCsqabs##suffix(z)); }                           \
  LAYOUTPROBE_BOTH type hipCadd##suffix(type p, type q) { return make_##type(p.x + q.x, p.y + q.y); }            \
  LAYOUTPROBE_BOTH type hipCsub##suffix(type p, type q) { return make_##type(p.x - q.x, p.y - q.y); }            \
  LAYOUTPROBE_BOTH type hipCmul##suffix(type p, type q) {                                                        \
    return make_##type(p.x * q.x - p.y * q.y, p.y * q.x + p.x * q.y);                                            \
  }                                                                                                              \
  LAYOUTPROBE_BOTH type hipCfma##suffix(type p, type q, type r) { return hipCadd##suffix(hipCmul##suffix(p, q), r); } \
  LAYOUTPROBE_BOTH type hipCdiv##suffix(type p, type q) {                                                        \
    const real size = hipCsqabs##suffix(q);                                                                      \
    return make_##type((p.x * q.x + p.y * q.y) / size, (p.y * q.x - p.x * q.y) / size);                          \
  }

LAYOUTPROBE_COMPLEX(hipFloatComplex, float, f, __builtin_sqrtf)
LAYOUTPROBE_COMPLEX(hipDoubleComplex, double, , __builtin_sqrt)
#undef LAYOUTPROBE_COMPLEX
#define make_hipComplex make_hipFloatComplex
LAYOUTPROBE_BOTH hipFloatComplex hipComplexDoubleToFloat(hipDoubleComplex z) {
  return make_hipFloatComplex((float)z.x, (float)z.y);
}
LAYOUTPROBE_BOTH hipDoubleComplex hipComplexFloatToDouble(hipFloatComplex z) { return make_hipDoubleComplex(z.x, z.y); }
