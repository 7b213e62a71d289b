"""A GPU host in a box: an SSH server on loopback, a simulated SGLang server and small datasets."""
