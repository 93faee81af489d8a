// See hip_runtime.h.
#pragma once
#include <cuda_fp16.h>
