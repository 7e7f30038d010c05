"""Passages of pages, receipts, evidence and traces: what is shown of a page, and why."""
