"""Weir on Kubernetes: the adapters of the controller's ports, and the Kopf handlers that wake its loop."""
