"""What has no pages of its own: blocks that flow, and the pages that are cut of them."""
