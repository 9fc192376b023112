"""Level-based foraging: agents that load food together, several in one world."""
