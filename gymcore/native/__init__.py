"""The compiled batch: `NativeEnv` for one environment, `NativeVectorEnv` for many."""
