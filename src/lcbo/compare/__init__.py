"""Several methods on one problem, each from several seeds: runs, scores, a table and a figure."""
