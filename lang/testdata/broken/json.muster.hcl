{ # ERROR: An ARIS manifest or grid spec becomes one by: muster convert FILE.
  "phase": {"p": {"job": {"command": "echo"}}}
}
