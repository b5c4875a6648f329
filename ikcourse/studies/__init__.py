"""One module a study; each makes one file of `results/`."""
