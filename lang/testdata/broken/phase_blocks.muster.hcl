phase "a" {
  place { candidates = [backend.local.local] }
  job {
    command = "x"
    options "slurm" { qos = "normal" } # WARNING: phase.a runs on local.local; none of them has type slurm, so these
    resources {
      gpus = 0
      gpu { memory = "16GiB" } # ERROR: gpu says what each GPU must be, and gpus = 0 asks for none. Take one
      walltime = "10s"
    }
  }
  retry { on = [] } # ERROR: The list is empty, so nothing would be tried again. Name failure
  checkpoint {
    path = "/abs/x"
    interval = "auto" # ERROR: "auto" is sqrt(2 × mtbf × write_time): write mtbf = "24h" and
    grace = "60s"
  }
  smoke { walltime = "1h" }
  breaker {}
  lifecycle {}
}
phase "b" {
  job { command = "x" }
  retry {
    on = ["oom", "oom"]
    scale "oom" { memory = 1 }
  }
  checkpoint {
    path = "" # ERROR: The path is empty: write a file or folder, relative to the workdir.
    interval = "0s" # ERROR: An interval is more than nothing.
    signal = "USR1"
    grace = "0s"
  }
}
