"""What the Task correlations page shows."""
