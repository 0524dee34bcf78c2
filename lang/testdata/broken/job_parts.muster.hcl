phase "a" {
  job {
    command = "x"
    resources {
      cpus = 0 # ERROR: At least 1 is needed, 0 was found.
      memory = 16 # ERROR: "16" has no unit: write 16MiB, 16GiB or 16B for bytes.
      gpus = -1 # ERROR: At least 0 is needed, -1 was found.
      walltime = "4" # ERROR: "4" has no unit: write 4s for seconds, 4m for minutes or 4h for hours.
      disk = "10G" # ERROR: "10G" is not exact: write 10GiB (powers of 1024) or 10GB (powers of
      nodes = 1.5 # ERROR: A whole number is needed, 1.5 was found.
      gpu { models = "A100" } # ERROR: A list is needed, ["…"], this is a string.
    }
    env = { "1A" = "x", B = ["x"], C = null } # ERROR: "1A" cannot name an environment variable: use letters, digits and _, # ERROR: A string is needed, this is a list. # ERROR: The value is null.
    output "o" {
      path = "x"
      verify = "jsn" # ERROR: There is no check named "jsn"; did you mean "json"? Checks are
      min_size = "1 potato" # ERROR: "1 potato" is not a size: the units are B, kB, MB, GB, TB, PB and
      min_count = 2 # ERROR: min_count goes with glob; this output is one file.
    }
    output "p" {} # ERROR: Write exactly one of path, glob and dir in output "p"; none was found.
    output "q" { # ERROR: Write exactly one of path, glob and dir in output "q"; path and glob
      path = "a"
      glob = "b" 
    }
    output "r" { path = "/abs" } # ERROR: The path "/abs" of the output "r" of phase.a is absolute. Output
    output "s" { path = "../up" } # ERROR: The path "../up" of the output "s" of phase.a leads out of the
    output "t" { path = "" } # ERROR: The path "" of the output "t" of phase.a is the workdir itself.
    output "u" { path = ".muster/x" } # ERROR: The path ".muster/x" of the output "u" of phase.a is in muster's
    output "v" { 
      path = "v"
      verify = { sha = "x" } # ERROR: An object here is { command = "…" } or { sha256 = "FILE" }, not
    }
    output "w" { 
      path = "w"
      verify = ["json", "command"] # ERROR: Which command? It is run with the path as $1: verify = { command = "python
    }
    metric "m" { # ERROR: Write exactly one of json, column and regex in metric "m".
      output = "oo" # ERROR: The job has no output "oo".
      json = "final" # ERROR: "final" is not a JSON pointer (RFC 6901): it begins with a slash,
      column = "x"
    }
    metric "n" { output = "o" } # ERROR: Write exactly one of json, column and regex in metric "n".
    metric "l" { regex = "loss" } # ERROR: "loss" has no group; put the part to read in parentheses. # ERROR: A metric block needs output = …: name of the output
    secret "S" {} # ERROR: Write exactly one of env, command and file in secret "S".
    secret "T-U" { env = "1X" } # ERROR: "1X" cannot name an environment variable: use letters, digits and _, # ERROR: "T-U" cannot name an environment variable, which a secret becomes in
    secret "V" { # ERROR: Write exactly one of env, command and file in secret "V".
      env = "A"
      file = "b"
    }
    options "slrm" { qos = "x" } # ERROR: There is no provider for backends of type "slrm"; did you mean
    options "slurm" { qoss = "x" } # ERROR: There is no attribute named "qoss" in an options slurm block; did you
  }
}
