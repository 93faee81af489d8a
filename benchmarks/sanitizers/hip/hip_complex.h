// See hip_runtime.h.
#pragma once
#include <cuComplex.h>
#define hipFloatComplex cuFloatComplex
#define make_hipFloatComplex make_cuFloatComplex
#define hipCaddf cuCaddf
#define hipCsubf cuCsubf
#define hipCmulf cuCmulf
#define hipCrealf cuCrealf
#define hipCimagf cuCimagf
