"""From what the user named to raw rows: archives and folders, a first look, columns of unknown tables."""
