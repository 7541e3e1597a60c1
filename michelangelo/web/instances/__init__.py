"""What the Instances page shows."""
