# Featurize, machines that are rented in the web console.

site     = "Featurize"
verified = "2026-06"
home     = "/home/featurize"

notes = ["a machine is returned, and never paused: what is not in a folder that survives is wiped at once"]

folder "/" {
  note = "wiped at once when the machine is returned"
}
folder "/home/featurize/work" {
  survives_stop    = true
  survives_release = true
  note             = "30 GB without charge; written back after a while"
}
folder "/cloud" {
  survives_stop    = true
  survives_release = true
}
