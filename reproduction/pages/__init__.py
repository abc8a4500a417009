"""The page on the paper's claims."""
