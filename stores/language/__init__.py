"""Facts from the words of a text alone: spelling, stop words, speakers, dates, code.

Nothing here knows an index; another language than English would begin here.
"""
