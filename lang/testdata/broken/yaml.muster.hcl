# A manifest of another tool.

project: x # ERROR: The file is YAML, not HCL: A campaign is written as phase "NAME" { … }
phases:
  - name: a
