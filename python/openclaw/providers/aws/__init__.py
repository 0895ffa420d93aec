"""Providers of AWS. The SDK, aiobotocore, comes with the extra `aws` and is imported on first use."""
