"""What runs a program: the seam, and the engines behind it."""
