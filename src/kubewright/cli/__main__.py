"""``python -m kubewright.cli``: the same as ``kubewright``."""

from kubewright.cli.main import main

main()
