"""NVIDIA's cards: silicon that is at hand, on which the method proves itself."""

from __future__ import annotations

from layoutprobe.backends.base import Backend


def register() -> None:
    """Add the targets, the backend, the language of their probes, and the kernels of their instructions."""
    from layoutprobe import arch
    from layoutprobe.backends.source import register_backend
    from layoutprobe.extras.nvidia.probe import LANGUAGE, interaction_kernel
    from layoutprobe.extras.nvidia.targets import TARGETS
    from layoutprobe.instructions.probe import register_kernels
    from layoutprobe.toolchain.languages import register_language

    arch.register(*TARGETS)
    register_backend("cuda", _backend)
    register_language(LANGUAGE)
    register_kernels(LANGUAGE.name, interaction_kernel)


def _backend(device: int | None) -> Backend:
    from layoutprobe.extras.nvidia.backend import CudaBackend

    return CudaBackend(device or 0)
