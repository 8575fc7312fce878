"""The tests of Rivet; one folder per room of `rivet/`."""
