"""What the Live evaluation page shows and starts."""
