"""What a result row is, and frames of them: checked, joined, saved."""
