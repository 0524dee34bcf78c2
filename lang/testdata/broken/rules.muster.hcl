phase "p" {
  job { command = "true" }
  checkpoint {
    path     = "c"
    interval = "2h" # ERROR: The interval is longer than max_loss
    max_loss = "1h"
    signal   = "KILL" # ERROR: is not one of USR1
  }
  breaker { share = 15 } # ERROR: 0 to 1 is needed
  lifecycle { ignore_changes = [env, setupp, "memory"] } # ERROR: did you mean "setup"? # ERROR: ignore_changes cannot name "memory"
  precondition { # ERROR: A precondition without a check
    message = "x"
  }
  precondition { # ERROR: more than one check
    condition = true
    file      = "x"
  }
}
phase "q" {
  job { command = "true" }
  checkpoint {
    path     = "c"
    interval = "auto" # ERROR: An automatic interval needs two times
  }
  depends_on = [phase.pp] # ERROR: There is no phase named "pp"
}
failure "f" { # ERROR: A failure needs a sign
  action = "rety" # ERROR: did you mean "retry"?
}
failure "g" {
  match      = "(" # ERROR: is not a regular expression
  exit_codes = [300] # ERROR: from 0 to 255
}
