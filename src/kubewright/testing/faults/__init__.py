"""Faults on the way to an API server and back: interceptors that refuse, lose, delay, hold, cut, repeat or end.

Each is given to ``Client(interceptors=[…])`` or put on a ``FaultyTransport``, says by keywords which requests it
strikes, and counts how often it did. Nothing is left to chance but what is asked for, and that follows the dice.
"""

from kubewright.testing.faults.fault import READS, WRITES, Fault, Match
from kubewright.testing.faults.gate import Gate
from kubewright.testing.faults.incarnation import Cut, Incarnation
from kubewright.testing.faults.interruption import Interrupted, cancelled_at
from kubewright.testing.faults.outage import Outage
from kubewright.testing.faults.requests import delay_answer, delay_request, lose_answer, lose_request, refuse
from kubewright.testing.faults.transport import FaultyTransport
from kubewright.testing.faults.watches import delay_events, drop_watch, duplicate_events, expire_watch, stall_watch

__all__ = [
    "READS",
    "WRITES",
    "Cut",
    "Fault",
    "FaultyTransport",
    "Gate",
    "Incarnation",
    "Interrupted",
    "Match",
    "Outage",
    "cancelled_at",
    "delay_answer",
    "delay_events",
    "delay_request",
    "drop_watch",
    "duplicate_events",
    "expire_watch",
    "lose_answer",
    "lose_request",
    "refuse",
    "stall_watch",
]
