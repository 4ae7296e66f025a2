"""Turn measurements of a representative trial into a compute decision and its budget."""
