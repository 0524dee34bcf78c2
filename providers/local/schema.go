package local

import "github.com/muster-run/muster/providers/offer"

// Schema describes `backend "local"` and the abilities of this machine.
func Schema() offer.Schema {
	return offer.Schema{
		Type:    "local",
		Version: "1",
		Config: offer.Block{Attrs: []offer.Attr{
			{Name: "cpus", Type: offer.Number, Doc: "Cores to give out; at least 1. A GPU job that asks for no more than one takes none of them. Default: all of the machine's.", Default: ""},
			{Name: "memory", Type: offer.Size, Doc: "Memory to give out to jobs that ask for some. Default: all of the machine's."},
			{Name: "slots", Type: offer.Number, Doc: "Most jobs at once, over all campaigns of this user; at least 1. Default: one a core, one a GPU."},
			{Name: "gpus", Type: offer.StringList, Doc: "GPUs to use: indexes as nvidia-smi counts, or UUIDs, of devices or MIG slices. Default: all."},
			{Name: "gpu_free_max", Type: offer.Size, Default: `"500MiB"`, Doc: "A GPU with at most this much memory in use counts as free."},
			{Name: "scratch", Type: offer.String, Doc: "Folder on the machine's own disk for `scratch` of jobs, \"/local/scratch\"; it may name variables there, \"$TMPDIR\". By default the folder for temporary files."},
			{Name: "spool", Type: offer.String, Doc: "Directory of the queue, on a local disk. Default: one for this user and machine."},
		}},
		Can: offer.Capabilities{Dependencies: true, Retries: true, GPUs: true, Events: true, Transfer: true, HostQueue: true, Holds: true, Guard: true, FeedSlots: 2},
	}
}
