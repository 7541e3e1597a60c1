"""What the comparison tasks share: the seed's peers, generated as LSQ instances at exact lengths."""
