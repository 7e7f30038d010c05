"""Explain results: passages of pages, receipts, evidence and traces."""
