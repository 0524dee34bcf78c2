phase "p" {
  job {
    command = "true"
    resources {
      walltime = "30"  # ERROR: Invalid walltime
      memory   = "24G" # ERROR: Invalid memory
      cpus     = 0     # ERROR: At least 1 is needed, 0 was found
      gpus     = 1.5   # ERROR: A whole number is needed
      disk     = 10    # ERROR: Invalid disk
      gpu { models = "A100" } # ERROR: A list is needed
    }
    output "o" {
      path     = "o"
      min_size = 3 # ERROR: Invalid min_size
    }
  }
  retry {
    on    = ["oom", "prempted"] # ERROR: did you mean "preempted"?
    delay = 120 # ERROR: Invalid delay
    scale "oom_host" { memory = "2x" } # ERROR: A number is needed
    scale "walltime" { walltime = 2 } # WARNING: This scale is never used
  }
  max_parallel = 0 # ERROR: At least 1 is needed
}
budget "b" {
  limits   = { dollars = 3, gpu_hour = 2, usd = "x" } # ERROR: no unit named "dollars" # ERROR: did you mean "gpu_hours"? # ERROR: usd must be a number
  deadline = "2026-12-15" # ERROR: is not a time
  warn_at  = 80 # ERROR: 0 to 1 is needed, 80 was found
}
