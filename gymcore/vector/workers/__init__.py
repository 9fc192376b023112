"""Worker processes that run Python environments for `AsyncVectorEnv`."""
