// For host code alone; a source that includes it for its launcher can still be read for its device code.
#pragma once
#include <hip/hip_runtime.h>
