"""The compiled batch as an environment (`NativeEnv`) and as a vector environment (`NativeVectorEnv`)."""
