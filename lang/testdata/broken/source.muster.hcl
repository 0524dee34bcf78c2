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
backend "ssh" "lab" { host = "h" } # ERROR: phase.q runs on backend.ssh.lab with a source
phase "q" {
  place { candidates = [backend.ssh.lab] }
  job { command = "true" }
}
