"""Methods without a model: COBYQA, COBYLA, SLSQP, CMA-ES, Sobol search."""
