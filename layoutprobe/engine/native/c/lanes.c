// What moves values between lanes and scalar registers.
#include "state.h"

// o0 source, o1 where to. EXEC all zero: lane 0.
FORM(F_readfirstlane) {
  mask ex = EX;
  DS(1) = ((const u32 *)(W8 + i->o[0]))[ex ? __builtin_ctzll(ex) : 0];
  NEXT;
}
// o2 the lane, or k0 where k1 says so.
FORM(F_readlane) {
  u32 lane = (i->k[1] ? i->k[0] : RS(2)) & (LANES - 1);
  DS(1) = ((const u32 *)(W8 + i->o[0]))[lane];
  NEXT;
}
