campaign "x" {
  descripton = "typo" # ERROR: did you mean "description"?
}

phases "a" { # ERROR: Unknown block "phases": There is no block named "phases" in a campaign file; did you mean "phase"?
  job { command = "true" }
}

phase "b" {
  job {
    comand = "true" # ERROR: did you mean "command"?
    command = "true"
    resources { wallclock = "4h" } # ERROR: Unknown attribute "wallclock"
  }
  smok { # ERROR: did you mean "smoke"?
  }
  job = 3 # ERROR: job is a block: write job { … } without the equals sign
}
