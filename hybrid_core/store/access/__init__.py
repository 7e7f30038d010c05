"""Who may call from elsewhere, what they changed, and what they were answered. Clearing a home leaves who may call."""
