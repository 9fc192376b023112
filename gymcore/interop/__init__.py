"""Other libraries' interfaces over gymcore's environments, a module a library."""
