"""Manifests that draft themselves: from debug information, host code, launches that happened; and references."""
