"""The machine: argv, paths and URLs in; bytes, exit status and typed errors out."""
