"""Language models: one seam, structured replies, replies kept and replayed."""
