"""The API: pydantic models of the kinds, their status, and the operator-driver contract."""
