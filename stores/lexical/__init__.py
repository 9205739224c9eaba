"""Lexical index: records by the words of a question, with Tantivy."""

from stores.lexical.analysis import distinct
from stores.lexical.hits import HeldTerms, LexicalHits, LexicalResult
from stores.lexical.index import LexicalIndex
from stores.lexical.neighbours import Alongside
from stores.lexical.schema import key_of, layout
