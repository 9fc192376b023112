"""Compiled environments: `NativeEnv` for one environment, `NativeVectorEnv` for many."""
