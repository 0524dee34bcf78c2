// Package ssh is for Linux hosts reached over ssh, their GPUs shared or not.
// The queue of package host runs the jobs there; what drives it comes later,
// so far there is the schema.
package ssh

import "github.com/muster-run/muster/providers/offer"

// Schema says what `backend "ssh"` and `options "ssh"` may hold.
func Schema() offer.Schema {
	return offer.Schema{
		Type:   "ssh",
		Config: offer.Block{Attrs: append(Connection(), place()...)},
		Options: offer.Block{Attrs: []offer.Attr{
			{Name: "host", Type: offer.String, Doc: "The one of `hosts` that runs the job; any of them by default."},
		}},
		Can: offer.Capabilities{
			Dependencies: true, Retries: true, GPUs: true, Events: true, Transfer: true, Accounting: true,
			Remote: true, HostQueue: true,
		},
	}
}

// Connection is how a host is reached; package slurm has the same in a block.
// What is not stated comes from ~/.ssh/config.
func Connection() []offer.Attr {
	return []offer.Attr{
		{Name: "host", Type: offer.String, Doc: "Name or address of the host, or an alias of ~/.ssh/config."},
		{Name: "user", Type: offer.String, Doc: "User on the host; by default ~/.ssh/config's, then yours here."},
		{Name: "port", Type: offer.Number, Default: "22", Doc: "Port of the host's ssh server, 1 to 65535."},
		{Name: "identity_file", Type: offer.String, Doc: "Private key to use; by default the agent's and ~/.ssh/config's."},
		{Name: "accept_new", Type: offer.Bool, Default: "false", Doc: "Accept the key of a host that is not yet in known_hosts; a changed key is always refused."},
	}
}

func place() []offer.Attr {
	return []offer.Attr{
		{Name: "hosts", Type: offer.StringList, Doc: "Several hosts as one backend, instead of `host`; each is a pool of its own."},
		{Name: "gpus", Type: offer.NumberList, Doc: "Indexes of the GPUs that may be used, as nvidia-smi counts; all by default."},
		{Name: "gpu_free_max", Type: offer.Size, Default: `"500MiB"`, Doc: "A GPU with at most this much memory in use counts as free."},
		{Name: "shared_fs", Type: offer.String, Doc: "Name of the filesystem that holds the workdir: backends that state the same name and workdir see each other's files, and nothing is copied between them."},
		{Name: "install_dir", Type: offer.String, Doc: "Folder on the host for muster's own binary, one file for each version; by default muster/bin below $XDG_CACHE_HOME."},
	}
}
