"""Makes staged partitions the visible state of a tree, in an order that leaves each old or new at any moment."""
