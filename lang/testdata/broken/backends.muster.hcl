backend "slrum" "a" { # ERROR: no provider for backends of type "slrum"; did you mean "slurm"?
  account = "x"
}
backend "ssh" "lab" { # ERROR: host is missing
  hots         = "x" # ERROR: did you mean "host"?
  gpu_free_max = 500 # ERROR: Invalid gpu_free_max
  gpus         = ["a"] # ERROR: Invalid gpus
  workdir      = "here" # ERROR: must be absolute or begin with ~/
  on_hold      = "sleep" # ERROR: is not one of stop, release, keep
  price        = { usd_per_gpuhour = 3 } # ERROR: did you mean "usd_per_gpu_hour"?
}
backend "slurm" "b" {
  workdir = "/x"
  shh { host = "y" } # ERROR: did you mean "ssh"?
}
phase "p" {
  place {
    candidates = [backend.ssh.lap] # ERROR: There is no backend.ssh.lap; did you mean "ssh.lab"?
    prefer     = "fastest" # ERROR: is not one of order, cheapest, soonest
  }
  job {
    command = "true"
    options "slurm" {
      qos = "hi" # ERROR: is not one of
      qso = 1 # ERROR: did you mean "qos"?
    }
    options "slurn" {} # ERROR: did you mean "slurm"?
  }
}
policy {
  deny = [backend.slurm.bb] # ERROR: did you mean "slurm.b"?
  rule {
    when = shape.gpu > 0 # ERROR: did you mean "gpus"?
    use  = "cheapst" # ERROR: did you mean "cheapest"?
  }
  rule {
    when = shape.gpus # ERROR: A condition is true or false, not a number
    use  = backend.slurm.b
  }
}
