# LanRui (揽睿星舟), machines that are rented in the web console.

site     = "LanRui"
verified = "2026-06"
home     = "/home/user"

notes = [
  "a stop alone goes on to cost: the data disk is billed by the hour until it is destroyed",
  "the ssh key is uploaded before a machine is rented",
]

folder "/" {
  note = "lost when the machine is stopped"
}
folder "/home/user/datadisk" {
  survives_stop = true
  note          = "billed by the hour until it is destroyed"
}
folder "/home/user/netdisk/data" {
  survives_stop    = true
  survives_release = true
  note             = "network storage of one zone, 10 GB without charge"
}
