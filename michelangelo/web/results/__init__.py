"""What the Results files page shows and asks."""
