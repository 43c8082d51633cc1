"""Pure builders of the children: plain dicts for server-side apply, without client or clock."""
