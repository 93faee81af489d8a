// In ROCm a file of its own; here with the rest.
#pragma once
#include <hip/hip_runtime.h>
