"""Running a method on a problem: ask/tell, the loop, evaluation, stopping and the answer."""
