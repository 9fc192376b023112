"""Pictures of the environments over Box2D."""
