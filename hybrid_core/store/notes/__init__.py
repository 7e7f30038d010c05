"""What people keep beside documents: notes, and which answers were right."""
