"""What users of the framework test with."""
