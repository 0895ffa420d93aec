"""Whole shards on an embedded cluster, in virtual time, with faults drawn from a seed."""
