"""The first version of the API: models of its kinds. A later version gets a sibling folder."""
