"""S3, and stores that speak its protocol, as a destination; boto3 and its errors stay here."""
