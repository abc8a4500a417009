"""From a function to an answer: `minimize` and its loop."""
