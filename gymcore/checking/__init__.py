"""What checkers ask of an environment: the rules, and the functions that apply them."""
