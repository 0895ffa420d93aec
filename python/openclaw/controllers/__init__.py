"""The shipped operators' reconcilers."""
