"""One attempt at a prepared export, from the first row that is read to the export file of the whole."""
