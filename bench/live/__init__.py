"""Tuned by trimtab from cold, against static settings and a scaler on lag, on the real cluster."""
