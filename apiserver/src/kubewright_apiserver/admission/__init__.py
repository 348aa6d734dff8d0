"""kube-apiserver's own admission plug-ins: what they fill in and refuse before an object is stored.

Those that only fill in or refuse early act on the object in place, before its strategy; those that validate act on
what is about to be stored. One module a subject; ``plugins.py`` has the names and the order.
"""

from __future__ import annotations

from kubewright_apiserver.admission.attributes import Attributes, Cluster
from kubewright_apiserver.admission.plugins import Plugins, UnknownPlugin
from kubewright_apiserver.admission.quota import Charge, charges

__all__ = ["Attributes", "Charge", "Cluster", "Plugins", "UnknownPlugin", "charges"]
