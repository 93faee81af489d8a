"""Whether the emulator tells the truth about a card: experiments, each run on both and judged.

An *experiment* asks one question. It runs its probes through a source of captures (a card, or a
file that somebody recorded) and through the emulator, or holds them against the model that the
emulator's users are told, and says case by case whether the two agree.
"""
