"""Versions as host code may ask for them."""
cuda = "13.0"
hip = None
