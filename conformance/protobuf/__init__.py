"""What Go makes of objects in protobuf, and of bytes that are almost such: ``python -m conformance.protobuf``.

Go is asked, and not a server, since it is the same code that turns messages into objects and back in both.
"""
