"""Windows, drawings, text, tiling and video files."""
