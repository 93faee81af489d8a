"""HIP and C++ as they are read: tokens, statements, expressions, names, macros. Nothing is changed here."""
