"""Mails: single messages and mailboxes."""
