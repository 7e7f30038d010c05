"""Jobs: what is to be done, who does it, and what came of it. Every door enqueues here."""
