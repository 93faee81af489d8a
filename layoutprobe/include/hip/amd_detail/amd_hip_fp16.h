// In ROCm the file behind <hip/hip_fp16.h>, which sources include by this name, too.
#pragma once
#include <hip/hip_fp16.h>
