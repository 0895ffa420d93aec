"""What is around every provider: deadlines, limits, a breaker, retries of reads, metrics and spans."""
