"""The publish room."""
