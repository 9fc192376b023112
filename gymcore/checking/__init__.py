"""Rules that environments must meet, and functions that check them."""
