"""What users write and read: models of the seven kinds, and of what planning reads of Kubernetes' own."""
