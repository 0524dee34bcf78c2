phase "a" {
  grid { axes = { n = [1, 2] } }
  job { command = "echo ${cell.n}" }
}
moved {
  from = phase.a # ERROR: The old address is still there
  to   = phase.b # ERROR: There is no phase named "b"
}
moved {
  from = phase.old["n=1"]
  to   = phase.a["n=7"] # ERROR: No such job
}
moved {
  from = a.b # ERROR: Unknown name "a"
  to   = phase.a
}
import {
  to      = phase.a # ERROR: phase.a has 2 jobs; name one
  backend = backend.local.local
  id      = 12
}
import {
  to      = phase.a["n=1"]
  backend = backend.slurm.x # ERROR: There is no backend.slurm.x
  id      = "1"
}
result "r" { value = phase.a.metric.loss } # ERROR: phase.a has no metric "loss"
result "s" { value = phase.aa.metric.loss } # ERROR: no phase named "aa"
result "t" { value = phase.a.jobs } # ERROR: Neither a metric nor an output
result "u" { value = min(1, vra.x) } # ERROR: did you mean "var"?
budget "b" {
  limits     = { usd = 1 }
  applies_to = [phase.x, backend.local.x, "y"] # ERROR: no phase named "x" # ERROR: no backend.local.x # ERROR: Neither a phase nor a backend
}
