"""Candidates for a question: documents and pages, by document cards and the coarse pass."""
