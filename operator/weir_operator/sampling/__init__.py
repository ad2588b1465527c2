"""`weir init`: manifests from a sample of rows."""
