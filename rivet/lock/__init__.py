"""One run at a time for each export and destination, by a lock that a crash does not leave for ever."""
