# One short job on a machine rented at Vast.ai. The key is $VAST_API_KEY, or in
# ~/.vast_api_key. Try it on the simulator first: docs/guide/rented.md.
#
#   muster plan      the highest cost; rents nothing
#   muster apply     asks, rents, runs the job, and fetches and checks its result
#   muster pull      copies the result into outputs/
#   muster destroy   gives the machine back, and waits until Vast.ai says so

campaign "rented" {}

backend "vastai" "cloud" {
  image            = "pytorch/pytorch:2.8.0-cuda12.6-cudnn9-runtime"
  gpu              = ["RTX 4090"]
  disk             = "20GB"
  max_usd_per_hour = 0.45 # with the disk: muster rents nothing more expensive
  reliability      = 0.95
  workdir          = "/root/work"
  hold             = "10m" # after the last job
  on_hold          = "release"
}

budget "money" {
  limits = { usd = 2 }
}

phase "gpu" {
  place { candidates = [backend.vastai.cloud] }
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
