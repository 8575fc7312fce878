"""Makes staged partitions the visible state of a tree; at any moment each is old or new by its manifest."""
