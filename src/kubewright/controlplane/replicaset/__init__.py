"""ReplicaSet and ReplicationController: as many pods as the spec says, all alike."""

from kubewright.controlplane.replicaset.loops import replica_set_loop, replication_controller_loop

__all__ = ["replica_set_loop", "replication_controller_loop"]
