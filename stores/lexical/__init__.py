"""The lexical index: which records hold the words of a question, answered by Tantivy."""

from stores.lexical.analysis import analyse, distinct_terms
from stores.lexical.index import LexicalIndex
from stores.lexical.results import LexicalHit, LexicalResult

__all__ = ["LexicalHit", "LexicalIndex", "LexicalResult", "analyse", "distinct_terms"]
