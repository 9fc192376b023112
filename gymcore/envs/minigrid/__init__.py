"""MiniGrid and BabyAI, compiled."""
