"""What object stores share: a destination over the few requests that a bucket takes."""
