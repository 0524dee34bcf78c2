# Matpool (矩池云), machines that are rented in the web console.

site     = "Matpool"
verified = "2026-06"
home     = "/root"

notes = [
  "a stop releases the machine: there is no pause",
  "snapshots leave .snap files on /mnt, and have nothing of /mnt in them",
  "ports are declared when the machine is rented",
]

folder "/" {
  note = "lost when the machine is stopped, which releases it"
}
folder "/mnt" {
  survives_stop    = true
  survives_release = true
  note             = "network storage of one region, 5 GB without charge"
}
