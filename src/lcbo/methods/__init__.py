"""Methods: rules that choose what to evaluate next."""
