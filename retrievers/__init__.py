"""A question finds its sections and pages."""
