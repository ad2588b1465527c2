"""What users write and read: models of the six kinds, and of what planning reads of Kubernetes' own."""
