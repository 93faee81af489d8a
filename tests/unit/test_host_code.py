"""Files of strangers: kernels beside host code, C++ headers and bindings are compiled as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutprobe.arch import DEFAULT
from layoutprobe.codeobj.elf import load
from layoutprobe.drafting.draft import draft
from layoutprobe.errors import ToolchainError
from layoutprobe.toolchain.compile import assemble, compile_hip, files_read
from layoutprobe.toolchain.headers import STAND_INS

BINDING = """\
#include <torch/extension.h>
#include <ATen/hip/HIPContext.h>
#include <algorithm>
#include <iostream>
#include <type_traits>

template <typename T>
__global__ void scaled(const T* x, T* y, float factor, int n) {
  static_assert(std::is_same_v<T, float> || sizeof(T) == 2);
  const int i = std::min(int(blockIdx.x * blockDim.x + threadIdx.x), n - 1);
  y[i] = static_cast<T>(static_cast<float>(x[i]) * factor);
}

torch::Tensor scale(const torch::Tensor& x, double factor) {
  TORCH_CHECK(x.is_cuda() && x.dim() == 1, "one axis, not ", x.dim());
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  auto y = torch::empty_like(x);
  std::cout << x.numel() << std::endl;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scale", [&] {
    scaled<scalar_t><<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), factor, x.numel());
  });
  C10_HIP_KERNEL_LAUNCH_CHECK();
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale, "scales", py::arg("x")); }
"""
WITHOUT_SYSTEM = ("-nostdlibinc",)
"""No header of the system is found, as where no C++ compiler is installed."""


def test_a_binding_is_read_for_the_instances_that_it_launches(tmp_path: Path) -> None:
    """Each stand-in, too: all of them are included in one source."""
    every = sorted(path.relative_to(STAND_INS).as_posix() for path in STAND_INS.rglob("*.h"))
    source = tmp_path / "binding.hip"
    source.write_text("".join(f"#include <{name}>\n" for name in every) + BINDING)
    code = load(compile_hip(source, target=DEFAULT, flags=WITHOUT_SYSTEM).data)
    assert len(code.kernels) == 2
    assert any("c10" in name for name in code.kernels)
    read = files_read(source, target=DEFAULT, flags=WITHOUT_SYSTEM)
    assert STAND_INS / "torch" / "extension.h" in [path.resolve() for path in read]


@pytest.mark.parametrize("flags", [(), WITHOUT_SYSTEM])
@pytest.mark.parametrize("first", ["", "#include <cstdlib>\n#include <stdlib.h>\n"])
@pytest.mark.parametrize("then", ["", "#include <stdlib.h>\n#include <vector>\n"])
def test_launchers_exit_without_an_include_of_their_own(
    flags: tuple[str, ...], first: str, then: str, tmp_path: Path
) -> None:
    """ROCm's header brings <stdlib.h>; one that a source includes itself, before or behind, declares the same."""
    source = tmp_path / "kernel.hip"
    source.write_text(
        f"{first}#include <hip/hip_runtime.h>\n{then}__global__ void one(float* x) {{ *x = 1; }}\n"
        "int main(int argc, char** argv) {\n  srand(atoi(argv[1]));\n"
        "  if (!std::getenv(argv[2])) std::exit(rand());\n  std::abort();\n}\n"
    )
    assert list(load(compile_hip(source, target=DEFAULT, flags=flags).data).kernels)


def test_a_header_that_nobody_has_is_named(tmp_path: Path) -> None:
    source = tmp_path / "k.hip"
    source.write_text("#include <vector>\n#include <nobodys.h>\n")
    with pytest.raises(ToolchainError, match=r"'nobodys.h' is in none of the include directories"):
        compile_hip(source, target=DEFAULT, flags=WITHOUT_SYSTEM)


def test_assembly_that_names_its_target_is_assembled_for_that(tmp_path: Path) -> None:
    source = tmp_path / "k.hip"
    source.write_text('extern "C" __attribute__((global)) void k(int* p) { *p = 1; }\n')
    listing = tmp_path / "k.s"
    listing.write_text(compile_hip(source, target="gfx1100", flags=("-g0",)).assembly)
    with pytest.raises(ToolchainError, match=r"for gfx1100: assemble it for that .*--arch gfx1100"):
        assemble(listing, target=DEFAULT)
    text, (kernel,) = draft(listing, folder=tmp_path)
    assert kernel.name == "k"
    assert 'arch = ["gfx1100"]' in text
