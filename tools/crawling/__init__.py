"""Crawling: pages and files as the documents of a source."""
