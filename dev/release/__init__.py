"""What a release consists of, made by `make release`."""
