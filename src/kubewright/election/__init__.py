"""Leader election: of several replicas one works, told by a Lease."""

from kubewright.election.election import Election, LeaseTimes

__all__ = ["Election", "LeaseTimes"]
