"""Text analysis without an index: spelling, stop words, speakers, dates, code. English only."""
