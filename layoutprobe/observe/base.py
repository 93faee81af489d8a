"""What every observer of the gate does beyond watching: it gives a record of what it saw."""

from __future__ import annotations

from layoutprobe.machine.observer import Observer


class Recorder(Observer):
    """Watches one launch. The gate makes a fresh one per launch and asks it for its record at the
    end, also when the launch ended in a fault: then the record holds what was seen until there.
    """

    def record(self) -> object:
        """What was seen: a record, whose type is the key under which checks find it."""
        raise NotImplementedError
