"""How the values of records become a struct: one module for each format, and what they share."""
