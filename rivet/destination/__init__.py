"""The place files go: one protocol, one module per kind of store; SDKs and their errors stay in this room."""
