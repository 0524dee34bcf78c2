variable "who" { # ERROR: The variable "who" has no value: Add -var 'who=VALUE', or set MUSTER_VAR_who
  type = string
}
variable "hosts" { # ERROR: Add -var 'hosts=[…]'
  type        = list(string)
  description = "hosts to use"
}
phase "a" { # ERROR: A phase needs a job
}
phase "b" {
  job { # ERROR: command is missing
    name = "x"
  }
  retry { # ERROR: on is missing
    delay = "1s"
  }
}
result "r" { # ERROR: value is missing
}
moved { # ERROR: to is missing
  from = phase.z
}
