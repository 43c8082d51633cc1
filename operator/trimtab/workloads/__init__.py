"""Pure builders of the children: plain dicts for server-side apply, no client, no clock."""
