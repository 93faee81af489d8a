"""Code for an NVIDIA card: the driver reads it; nothing of it is read here."""

from __future__ import annotations

import hashlib

from layoutprobe.codeobj.model import CodeObject


def cubin(image: bytes, target: str) -> CodeObject:
    """What NVRTC or nvcc made, as a code object of which only the bytes are known.

    Args:
        image: the bytes.
        target: "sm_90".
    """
    return CodeObject(hashlib.sha256(image).hexdigest(), target, {}, (), image=image)
