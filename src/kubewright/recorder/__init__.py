"""The recorder: Event objects that tell people what happened to an object. Watch events are another thing."""

from kubewright.recorder.recorder import Recorder

__all__ = ["Recorder"]
