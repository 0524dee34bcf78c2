source {
  dir     = "."
  include = ["[", "../x"] # ERROR: is not a pattern # ERROR: leaves the source's folder
}
phase "p" {
  job {
    command = "true"
    output "o" { path = "o" } # ERROR: with a source the current directory is a read-only copy
  }
}
