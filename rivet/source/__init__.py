"""The SQL side: one protocol, one module per engine; drivers and their errors stay in this room."""
