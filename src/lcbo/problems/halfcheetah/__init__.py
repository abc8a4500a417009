"""The HalfCheetah robot."""
