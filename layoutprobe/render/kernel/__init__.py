"""A KernelView: the page on which a kernel is looked into."""
