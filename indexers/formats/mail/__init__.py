"""Mail: single messages and boxes of them."""
