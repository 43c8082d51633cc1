"""trimtab from a cold start against static settings and a lag scaler, on the real cluster."""
