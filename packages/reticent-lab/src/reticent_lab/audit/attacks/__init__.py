"""The attacks, one file for each thing that is attacked. A file defines `attacks()`: that is all it takes for
`reticent audit` to carry them out."""
