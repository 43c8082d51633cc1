"""`make demo`: the quickstart on a real cluster, under real load, with a report."""
