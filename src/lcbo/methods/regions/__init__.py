"""Trust-region methods: SCBO and HDsafeBO."""
