"""The Grafana dashboards that the chart ships: `python -m dev.dashboards FOLDER` writes them."""
