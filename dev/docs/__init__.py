"""The documentation as a site: the pages of the repository, built into build/site."""
