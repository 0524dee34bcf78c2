campaign "x y" { # ERROR: "x y" cannot name a campaign: use letters, digits, _, - and ., and do
  required_version = ">= 99" # ERROR: The campaign requires >= 99; this is muster 0.1.0.
  required_providers = { a = "x" } # ERROR: The version of "a" must be a constraint such as ">= 1.2".
  max_parallel = "many" # ERROR: A number is needed, this is a string.
  max_cells = -5 # ERROR: At least 1 is needed, -5 was found.
  state "s3" { bucket = "x" } # ERROR: There is no state store of type "s3". Known: file.
  state "file" { path = 3 } # ERROR: It is already at x.muster.hcl line 6. There can be only one state
  notify "slack" { url = "x" } # WARNING: This version of muster reads notify blocks and sends nothing; it will not notify "slack"
  notify "slack" { url = "y" } # WARNING: This version of muster reads notify blocks and sends nothing; it will not notify "slack"
  descripton = "x" # ERROR: There is no attribute named "descripton" in a campaign block; did you
}
campaign "z" {} # ERROR: It is already at x.muster.hcl line 1. There can be only one
source {
  dir = "nope" # ERROR: There is no folder "nope" here.
  include = ["../x", "/abs", "[", 5] # ERROR: "../x" leaves the source's folder; patterns are relative to dir. # ERROR: "/abs" leaves the source's folder; patterns are relative to dir. # ERROR: "[" is not a pattern; ** spans folders, * and ? stay within one,
}
source {} # ERROR: It is already at x.muster.hcl line 13. There can be only one
variable "x" { default = 1 }
backend "local" {} # ERROR: One label was found. Write backend "TYPE" "NAME" { … }.
backend "local" "a" "b" {} # ERROR: 3 labels were found. Write backend "TYPE" "NAME" { … }.
backend "locl" "x" {} # ERROR: There is no provider for backends of type "locl"; did you mean
backend "ssh" "y" { # ERROR: Backend ssh needs host = …: the host.
  gpus = ["a"] # ERROR: A number is needed, this is a string.
  gpu_free_max = "500M" # ERROR: "500M" is not exact: write 500MiB (powers of 1024) or 500MB (powers
  max_parallel = 1.5 # ERROR: A whole number is needed, 1.5 was found.
  price = { usd_per_gpu_hr = 1, usd_per_hour = "x" } # ERROR: There is no rate named "usd_per_gpu_hr"; did you mean # ERROR: usd_per_hour: "x" is not an amount: write a plain number such as 40
  on_hold = "stp" # ERROR: "stp" is not one of stop, release, keep; did you mean "stop"?
  hold = 5 # ERROR: "5" has no unit: write 5s for seconds, 5m for minutes or 5h for hours.
  env = ["x"] # ERROR: A map is needed, { NAME = "…" }, this is a list.
  workdir = "rel" # ERROR: "rel" must be absolute or begin with ~/ on a remote backend.
  profile = "nope" # ERROR: The ssh provider ships no profiles, so there is no "nope".
  wrkdir = "x" # ERROR: There is no attribute named "wrkdir" in a backend ssh block; did you
}
backend "slurm" "z" {
  profile = "cu-alpin" # ERROR: The slurm provider has no profile "cu-alpin"; did you mean "cu-alpine"? Shipped: cu-alpine, wide.
  ssh {} # ERROR: Ssh needs host = …: the login node.
  sshh {} # ERROR: There is no block named "sshh" in a backend slurm block; did you mean
  account = ["x"] # ERROR: A string is needed, this is a list.
}
phase "a" { 
  job { command = "x" } 
}
