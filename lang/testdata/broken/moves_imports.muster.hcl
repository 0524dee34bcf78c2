import {
  to = phase.a
  backend = backend.local.local
  id = "" # ERROR: The id is empty: write the backend's own id of the job, such as
}
import { # ERROR: phase.a is imported already at x.muster.hcl line 1.
  to = phase.a
  backend = "local.locl" # ERROR: There is no backend "local.locl"; did you mean "local.local"?
  id = "  " # ERROR: The id is empty: write the backend's own id of the job, such as
}
import {
  to = phase.b # ERROR: There is no phase named "b"; the phases are a.
  backend = backend.local.local
  id = 12
}
moved { # ERROR: phase.x → phase.y → phase.x: nothing could be found at the end.
  from = phase.x
  to = phase.y
}
moved {
  from = phase.y
  to = phase.x
}
moved { # ERROR: phase.u → phase.v → phase.u: nothing could be found at the end.
  from = phase.u
  to = phase.v
}
moved {
  from = phase.v
  to = phase.u
}
moved {
  from = phase.q
  to = phase.a
}
moved { # ERROR: Something is moved to phase.a already at x.muster.hcl line 32.
  from = phase.r
  to = phase.a
}
phase "a" { 
  job { command = "x" } 
}
