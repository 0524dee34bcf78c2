package local

import (
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// Schema describes `backend "local"` and the abilities of this machine.
func Schema() offer.Schema {
	return offer.Schema{
		Type:    "local",
		Version: "1",
		Config: offer.Block{Attrs: append(machine.SettingAttrs(),
			offer.Attr{Name: "spool", Type: offer.String, Doc: "Directory of the queue, on a local disk. Default: one for this user and machine."})},
		Can: offer.Capabilities{Dependencies: true, Retries: true, GPUs: true, Events: true, Transfer: true, HostQueue: true, Holds: true, Guard: true, Recalls: true, FeedSlots: 2},
	}
}
