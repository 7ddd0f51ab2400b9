"""How quickly an administrator finds things in a large bank."""
