"""Makes ``lives`` importable for the examples' tests."""
