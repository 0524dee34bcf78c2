job { command = "x" } # ERROR: There is no block named "job" in a campaign file; it belongs in phase
output "x" { path = "x" } # ERROR: There is no block named "output" in a campaign file; it belongs in job
phase { # ERROR: No labels were found. Write phase "NAME" { … }.
}
phase "a" "b" { # ERROR: Two labels were found. Write phase "NAME" { … }.
  job { command = "x" }
}
phase "c" {
  job "n" { command = "x" } # ERROR: One label was found. Write job { … }.
  command = "x" # ERROR: There is no attribute named "command" in a phase block; it belongs in
  resources { cpus = 1 } # ERROR: There is no block named "resources" in a phase block; it belongs in
  walltime = "1h" # ERROR: There is no attribute named "walltime" in a phase block; it belongs in
}
phase "d" {
  job {
    command = "x"
    walltime = "1h" # ERROR: There is no attribute named "walltime" in a job block; it belongs in
    cpus = 1 # ERROR: There is no attribute named "cpus" in a job block; it belongs in
    gpu { memory = "1GiB" } # ERROR: There is no block named "gpu" in a job block; it belongs in resources
    smoke {} # ERROR: There is no block named "smoke" in a job block; it belongs in phase {
    retry = 3 # ERROR: There is no attribute named "retry" in a job block; it belongs in
  }
  place = [backend.local.local] # ERROR: place is a block: write place { … } without the equals sign.
  smoke = true # ERROR: smoke is a block: write smoke { … } without the equals sign.
  pilot = "first" # ERROR: pilot is a block: write pilot { … } without the equals sign.
  lifecyle {} # ERROR: There is no block named "lifecyle" in a phase block; did you mean
}
backends "local" "x" {} # ERROR: There is no block named "backends" in a campaign file; did you mean
resource "x" "y" {} # ERROR: There is no block named "resource" in a campaign file. Declare jobs in a phase
module "m" {} # ERROR: There is no block named "module" in a campaign file. A campaign is one directory
terraform {} # ERROR: There is no block named "terraform" in a campaign file. Versions, providers
provider "p" {} # ERROR: There is no block named "provider" in a campaign file. A place to run is
output "z" { value = 1 } # ERROR: There is no block named "output" in a campaign file; it belongs in job
data "x" "y" {} # ERROR: There is no block named "data" in a campaign file. For values from outside
phase "e" {
  job { # ERROR: A job block needs command = …: a string, which
    cmd = "x" # ERROR: There is no attribute named "cmd" in a job block; it holds command,
  }
}
