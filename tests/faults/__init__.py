"""The worst nights: faults at every step of a run, many nights on end, and input from strangers."""
