"""How hyperparameters are learned: averaged over a lattice, or at the peak of their posterior."""
