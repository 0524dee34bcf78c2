phase "p" {
  job {
    command = "true"
    output "a" { # ERROR: Write exactly one of path, glob and dir in output "a"; none was found
      verify = "jsn" # ERROR: did you mean "json"?
    }
    output "b" { # ERROR: path and dir were found
      path = "b"
      dir  = "bb"
    }
    output "c" {
      path      = "c"
      min_count = 3 # ERROR: min_count goes with glob
      verify    = ["json", { command = "" }, "command", "min_size"] # ERROR: needs a text # ERROR: Which command? # ERROR: How large?
    }
    output "x-y" { path = "d" }
    output "x_y" { path = "e" } # ERROR: would both be MUSTER_OUTPUT_X_Y
    secret "S" { # ERROR: A secret has one source
      env  = "A"
      file = "b"
    }
  }
}
