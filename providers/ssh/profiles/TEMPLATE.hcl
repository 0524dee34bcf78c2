# What is known of a platform whose machines a person rents by hand: when it deletes
# something, and which folders survive what. Live answers do not tell either.
#
# 1. Copy this file beside your campaign, as platform.hcl say, and name it in the
#    backend block: `backend "ssh" "box" { profile = "platform.hcl" … }`.
# 2. Fill in what you know, and take out what you do not.
# 3. `muster backends` reads it and tells each mistake with its line.

site     = "The platform" # for people: as it calls itself
verified = "2026-06"      # the month in which this was last compared with its pages

home = "/root" # of the user whom its machines let in

notes = ["ports change when a machine is created again"] # what `muster backends` should say

# What it deletes. Plans count `after` from the day when a `rented` block says that a
# machine stopped.
clock "a machine that is off is released with its disks" {
  after = "15d"
}

# The deepest folder that holds the workdir counts. Without either word files of it
# survive neither.
folder "/" {
  note = "30 GB" # anything that a person should know
}
folder "/data" {
  survives_stop    = true
  survives_release = true
}
