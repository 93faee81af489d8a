// Extensions of the host's interface. In ROCm a file of their own; here with the rest.
#pragma once
#include <hip/hip_runtime.h>
