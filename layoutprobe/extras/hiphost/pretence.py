"""What the emulated device pretends, so that a program's way out of trouble can be tried.

LAYOUTPROBE_HIP_PRETEND="devices=2,memory=65536" layoutprobe run -- ./my_hip_test
"""

from __future__ import annotations

from msgspec import Struct, field

from layoutprobe.errors import UsageError
from layoutprobe.extras.hiphost.protocol import Error, Op

ENVIRONMENT = "LAYOUTPROBE_HIP_PRETEND"
_EXPECTED = (
    "devices=N, target=NAME, name=TEXT, memory=BYTES, version=N, hang=launch, lost=N, fail=OPERATION:STATUS[:N]; "
    "operations: " + ", ".join(op.name.lower() for op in Op)
)


class Pretence(Struct, frozen=True):
    """What differs from the truth.

    Attributes:
        devices: how many there are.
        target: what the devices say they are; "": what they execute.
        name: what the devices are called; "": what they are.
        memory: bytes that may be allocated; None: all.
        version: of the HIP runtime; None: that of the newest interface known.
        hang: a launch never ends, nor does anything that waits for it.
        lost: from this request on the device is lost; None: never.
        fail: operation -> (status, from its which call on).
    """

    devices: int = 1
    target: str = ""
    name: str = ""
    memory: int | None = None
    version: int | None = None
    hang: bool = False
    lost: int | None = None
    fail: dict[Op, tuple[Error, int]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Pretence:
        """The pretence of an environment variable.

        Raises:
            UsageError: it cannot be read.
        """
        values: dict[str, object] = {}
        fail: dict[Op, tuple[Error, int]] = {}
        for item in filter(None, text.split(",")):
            key, _, value = item.partition("=")
            try:
                if key in ("devices", "memory", "version", "lost"):
                    values[key] = int(value)
                elif key in ("target", "name") and value:
                    values[key] = value
                elif item == "hang=launch":
                    values["hang"] = True
                elif key == "fail":
                    operation, status, *rest = value.split(":")
                    fail[Op[operation.upper()]] = (Error(int(status)), int(rest[0]) if rest else 1)
                else:
                    raise ValueError(key)
            except (ValueError, KeyError) as wrong:
                raise UsageError(
                    f"{ENVIRONMENT} cannot be read", expected=_EXPECTED, observed=item[:80]
                ) from wrong
        return cls(fail=fail, **values)  # type: ignore[arg-type]  # the loop has checked them
