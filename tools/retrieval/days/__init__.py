"""Reading the days that a question names: tokens, and readers of them that know one kind of phrase each.

`phrases.py` is the way in. A reader takes what it knows from a cursor and returns what that means, or takes nothing and
returns None. None looks further than a phrase is long, so that reading takes time in proportion to the question.
"""
