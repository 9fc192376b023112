"""RWARE: robots of a warehouse that bring shelves to goals, several in one world."""
