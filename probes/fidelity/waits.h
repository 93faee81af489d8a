// Waits for everything outstanding, as each family spells them.
#pragma once

#if __GFX12__
#define WAIT_LDS "s_wait_dscnt 0x0"
#define WAIT_GLOBAL "s_wait_loadcnt 0x0"
#else
#define WAIT_LDS "s_waitcnt lgkmcnt(0)"
#define WAIT_GLOBAL "s_waitcnt vmcnt(0)"
#endif
