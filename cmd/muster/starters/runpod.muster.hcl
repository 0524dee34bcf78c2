# One short job on a pod rented at RunPod. The key is $RUNPOD_API_KEY, or in the file
# that api_key_file names. Try it on the simulator first: docs/guide/rented.md.
#
#   muster plan      the highest cost; rents nothing
#   muster apply     asks, rents, runs the job, and fetches and checks its result
#   muster pull      copies the result into outputs/
#   muster destroy   gives the pod back, and waits until RunPod says so

campaign "rented" {}

backend "runpod" "cloud" {
  image            = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404"
  gpu              = ["RTX 4090"]
  disk             = "20GB"
  max_usd_per_hour = 0.75                # with the disk: muster rents nothing more expensive
  workdir          = "/workspace/muster" # the rest of a pod's disk is wiped when it stops
  hold             = "10m"               # after the last job
  on_hold          = "release"
}

budget "money" {
  limits = { usd = 2 }
}

phase "gpu" {
  place { candidates = [backend.runpod.cloud] }
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
