"""What texts tell by their words alone: spelling, stop words, who speaks, which days are meant, whether it is code.

Nothing here knows an index; another language than English would begin here.
"""
