"""`layoutprobe inspect` and `launch`: what a kernel of the user's holds, at a moment of its run."""
