moved { # ERROR: from and to are both phase.a. # ERROR: phase.a → phase.a → phase.a: nothing could be found at the end.
  from = phase.a # ERROR: phase.a is in the campaign, so nothing can have moved away from it.
  to   = phase.a
}
moved { # ERROR: Something is moved to phase.a already at x.muster.hcl line 1. # ERROR: phase.b["N=1"] and phase.a differ in kind: move a phase to a phase,
  from = phase.b["N=1"] # ERROR: phase.b["N=1"] is in the campaign, so nothing can have moved away
  to   = phase.a
}
moved {
  from = phase.old["N=1"]
  to   = phase.a["N=9"] # ERROR: phase.a has no job phase.a["N=9"]; its jobs are phase.a["N=1"],
}
moved {
  from = "x" # ERROR: An address is phase.NAME or phase.NAME["axis=value,…"].
  to   = phase.a["M=1"]
}
moved {
  from = phase.c["N=1,M=2"]
  to   = phase.a["N="] # ERROR: An address is phase.NAME or phase.NAME["axis=value,…"].
}
moved { from = phase.d } # ERROR: A moved block needs to = …: the new address, which the campaign has.
import {
  to = phase.a # ERROR: phase.a has 2 jobs; name one: phase.a["N=1"].
  backend = backend.local.local
  id = "1"
}
import {
  to = phase.a["N=9"] # ERROR: phase.a has no job phase.a["N=9"]; its jobs are phase.a["N=1"],
  backend = "x" # ERROR: There is no backend "x". Declared: local.local.
  id = "1"
}
phase "a" {
  grid { axes = { N = [1,2] } }
  job { command = "x ${cell.N}" }
}
phase "b" {
  grid { axes = { N = [1,2] } }
  job { command = "x ${cell.N}" }
}
