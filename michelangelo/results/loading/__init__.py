"""Raw rows of any format into one checked frame, or one file, with a report."""
