// Stands in for the header of that name; see layoutprobe_cuda.h.
#pragma once
#include "layoutprobe_cuda.h"
