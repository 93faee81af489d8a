"""`layoutprobe.toml`: what to build, launch and expect."""
