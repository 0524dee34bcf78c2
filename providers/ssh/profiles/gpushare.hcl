# Gpushare (恒源云), instances that are rented in the web console.

site     = "Gpushare"
verified = "2026-06"
home     = "/root"

notes = [
  "an instance whose GPU is idle may be stopped: a quiet job dies with it",
  "the proxy turbo.gpushare.com is for one session and few domains: unset it after use",
  "/hy-netdisk is on marked machines only",
]

clock "an instance that is off is released" {
  after = "10d"
}

folder "/" {
  note = "reset to the image when the instance is powered off"
}
folder "/hy-tmp" {
  note = "emptied 24 hours after the instance is powered off"
}
folder "/hy-netdisk" {
  survives_stop    = true
  survives_release = true
}
folder "/hy-nas" {
  survives_stop    = true
  survives_release = true
  note             = "billed by the GB and hour"
}
