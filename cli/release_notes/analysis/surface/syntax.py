"""Syntax trees of Python files."""

import ast
import warnings

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parsed(text: str) -> ast.Module | None:
    """Return the tree, or None for text that this Python cannot parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def last_name(node: ast.expr) -> str:
    """Return `c` of `a.b.c`, and of `a.b.c(…)`."""
    inner = node.func if isinstance(node, ast.Call) else node
    return inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""
