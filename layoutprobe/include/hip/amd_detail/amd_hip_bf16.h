// In ROCm the file behind <hip/hip_bf16.h>, which sources include by this name, too.
#pragma once
#include <hip/hip_bf16.h>
