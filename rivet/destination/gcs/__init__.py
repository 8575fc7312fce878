"""Google Cloud Storage as a destination; gcsfs and its errors stay here."""
