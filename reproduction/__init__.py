"""The study of the paper: specs of problems x methods x seeds, their results, claims, figures and pages."""
