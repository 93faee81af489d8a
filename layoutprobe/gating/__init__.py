"""The parts of the gate: build a kernel, run it, collect what the checks say."""
