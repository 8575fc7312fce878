"""Private database servers for tests: started on first use, stopped and removed in every case."""
