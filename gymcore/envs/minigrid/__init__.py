"""MiniGrid and BabyAI: generated grid worlds, compiled."""
