"""Pictures of a plan: nodes by zone, fragments in them, flows between them, and what binds."""
