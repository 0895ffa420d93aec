"""Rules that kube-apiserver has in code for the built-in kinds."""
