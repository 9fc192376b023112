"""The DeepMind control suite."""
