// In ROCm the device functions come in a file of their own; here with the rest.
#pragma once
#include <hip/hip_runtime.h>
