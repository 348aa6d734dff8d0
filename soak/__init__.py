"""Long runs against the API server in the box: ``make soak``. Their short forms are tests here, for ``make test``."""
