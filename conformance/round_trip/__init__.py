"""Objects of every served kind with every settable field, made from the OpenAPI description and a real server's word.

``python -m conformance.round_trip`` writes what the real server answered into ``tests/kinds/data``.
"""
