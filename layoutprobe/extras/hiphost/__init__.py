"""A HIP runtime whose device is the emulator: an unmodified HIP host program runs on it."""
