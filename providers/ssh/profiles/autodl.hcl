# AutoDL, ordinary container instances, which are rented in the web console.
# From www.autodl.com/docs, and what people reported of them.

site     = "AutoDL"
verified = "2026-06"
home     = "/root"

notes = [
  "GitHub and Hugging Face are slow from there: `. /etc/network_turbo` in setup sets a proxy, and env = { HF_ENDPOINT = \"https://hf-mirror.com\", HF_HUB_DISABLE_XET = \"1\" } a mirror",
  "port and host may change when the instance is powered on again: copy its ssh command from the console",
  "powered off it has no claim on its GPU; without a GPU it can be powered on to fetch files",
  "when the balance is gone it is powered off",
]

clock "an instance that is powered off is released with its disks" {
  after = "15d"
}

folder "/" {
  survives_stop = true
  note          = "system disk of 30 GB"
}
folder "/root/autodl-tmp" {
  survives_stop = true
  note          = "fast disk of the machine; not in saved images"
}
folder "/root/autodl-fs" {
  survives_stop    = true
  survives_release = true
  note             = "network storage of one region, about 200,000 files: more of them look like a full disk"
}
