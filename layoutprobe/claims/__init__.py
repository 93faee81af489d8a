"""Claims about layouts: read, compared with what was solved, and what they would do to a GEMM."""

from layoutprobe.claims.files import read_claims, read_text
from layoutprobe.claims.judge import VERDICTS, Judgement, judge
from layoutprobe.claims.model import ClaimSet

__all__ = ["VERDICTS", "ClaimSet", "Judgement", "judge", "read_claims", "read_text"]
