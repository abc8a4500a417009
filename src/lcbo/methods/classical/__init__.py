"""Methods without a model: COBYQA, COBYLA, CMA-ES, Sobol search."""
