"""From captures to layouts. Nothing here knows what an instruction or a target should do."""
