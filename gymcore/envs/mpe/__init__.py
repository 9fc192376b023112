"""MPE: particles that move, push each other and communicate, several agents in one world."""
