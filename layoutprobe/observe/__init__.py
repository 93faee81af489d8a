"""Observers: what happened while a kernel ran, as records. An observer never judges."""
