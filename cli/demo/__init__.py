"""`engrain demo`: a real server, real text, real questions, and nothing left behind."""

from cli.demo.story import run_demo
