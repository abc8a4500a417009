"""The theorem's residuals and error functions, and the walk in two dimensions."""
