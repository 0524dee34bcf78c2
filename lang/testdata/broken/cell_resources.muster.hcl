phase "a" {
  grid { axes = { N = [1,2] } }
  job {
    command = "x ${cell.N}"
    resources {
      memory   = "${cell.N * 8}" # ERROR: "8" has no unit: write 8MiB, 8GiB or 8B for bytes. In the cell N=1.
      walltime = cell.N == 1 ? "1h" : "2" # ERROR: "2" has no unit: write 2s for seconds, 2m for minutes or 2h for
      cpus     = cell.N / 2 # ERROR: A whole number is needed, 0.5 was found. In the cell N=1.
      gpus     = "1" # ERROR: A number is needed, this is a string.
    }
    options "slurm" { qos = cell.N == 1 ? "normal" : "bad" } # ERROR: "bad" is not one of its values. In the cell N=2.
  }
}
