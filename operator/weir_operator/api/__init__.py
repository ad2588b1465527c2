"""What users write and read: pydantic models of the six kinds and of Kubernetes' own that planning reads, and the CRDs made from them."""
