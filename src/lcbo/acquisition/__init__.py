"""Rules that say where the next evaluation teaches most."""
