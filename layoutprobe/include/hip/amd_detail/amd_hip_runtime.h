// In ROCm the file behind <hip/hip_runtime.h>, which sources include by this name, too.
#pragma once
#include <hip/hip_runtime.h>
