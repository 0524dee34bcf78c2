# A job on an AutoDL instance that you rented in its console: muster neither starts nor
# ends instances there. For other platforms: profile = "gpushare", "matpool",
# "featurize" or "lanrui".
#
#   muster plan    -var port=41022   the bill, and when AutoDL deletes files
#   muster apply   -var port=41022   runs the job; close the lid at any time
#   muster pull    -var port=41022   the results, each checked by digest, before you release

variable "host" {
  type        = string
  default     = "root@connect.westb.seetacloud.com"
  description = "From the ssh command in the console; your ssh key has to be there, too"
}
variable "port" {
  type        = number
  description = "From the ssh command in the console; it changes with the instance"
}

campaign "autodl" {}

backend "ssh" "autodl" {
  profile    = "autodl"
  host       = var.host
  port       = var.port
  accept_new = true
  workdir    = "/root/autodl-tmp/muster" # the fast disk: lost when the instance is released
  setup      = "if [ -r /etc/network_turbo ]; then . /etc/network_turbo; fi"
  env        = { HF_ENDPOINT = "https://hf-mirror.com", HF_HUB_DISABLE_XET = "1" }
  price      = { currency = "CNY", usd_per_unit = 0.14, per_gpu_hour = 2.5 }

  # The rented instance: keep status and date up to date. AutoDL releases a stopped
  # instance with its disks after 15 days; every plan shows the date.
  rented "instance" {
    status = "running"
    since  = "2026-11-23"
    price  = { currency = "CNY", usd_per_unit = 0.14, per_hour = 2.5 }
  }
}

phase "gpu" {
  place { candidates = [backend.ssh.autodl] }
  job {
    command = "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader > ${output.gpu}"
    resources {
      gpus     = 1
      walltime = "10m"
    }
    output "gpu" {
      path   = "gpu.txt"
      verify = "nonempty"
    }
  }
}
