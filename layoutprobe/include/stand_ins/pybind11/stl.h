// pybind11 with conversions; a stand-in, see layoutprobe_torch.h.
#pragma once
#include <pybind11/pybind11.h>
