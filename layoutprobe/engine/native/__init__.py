"""The native engine: rows of the numpy engine, traced into C and chained into a threaded interpreter."""
