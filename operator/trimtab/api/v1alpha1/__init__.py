"""The API in its first version: the models of its kinds. A later version has a folder beside it."""
