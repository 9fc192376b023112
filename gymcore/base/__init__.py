"""Small helpers that the whole package stands on; they import nothing of it but `gymcore.error`."""
