"""What the lesson, Retrieval vs synthesis, shows."""
