// In ROCm the file behind <hip/hip_vector_types.h>, which sources include by this name, too.
#pragma once
#include <hip/hip_vector_types.h>
