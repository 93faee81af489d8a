"""A LayoutReport, in every format."""
