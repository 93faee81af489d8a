// Stands in for the header of that name; see layoutprobe_torch.h.
#pragma once
#include "../../../layoutprobe_torch.h"
