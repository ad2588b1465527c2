"""`weir test`: rows in and rows expected, beside a manifest."""
