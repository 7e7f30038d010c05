"""Texts with little or no markup."""
