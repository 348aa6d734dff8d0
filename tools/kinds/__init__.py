"""Writes the modules of ``kubewright.kinds`` from the facts in the API server's data folder."""
