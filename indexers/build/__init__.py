"""From parsed pages to what is published of them."""
