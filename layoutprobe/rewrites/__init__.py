"""Small changes of a source that may mend it, a kind a function, and many of them in one text. Nothing runs here."""
