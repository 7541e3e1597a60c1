"""What the Degradation curves page shows."""
