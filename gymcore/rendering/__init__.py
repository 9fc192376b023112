"""Windows, drawing, text, tiling and video files."""
