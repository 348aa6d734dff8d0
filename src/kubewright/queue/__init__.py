"""Which key next, and when: a queue that dedupes, delays, backs off and sets priorities."""

from kubewright.queue.backoff import Backoff, TokenBucket
from kubewright.queue.queue import Queue
from kubewright.queue.statistics import Statistics
from kubewright.queue.work import LOW, QueueClosed, Work

__all__ = ["LOW", "Backoff", "Queue", "QueueClosed", "Statistics", "TokenBucket", "Work"]
