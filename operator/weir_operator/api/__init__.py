"""What users write and read: pydantic models of the six kinds and of `Node`, and the CRDs made from them."""
