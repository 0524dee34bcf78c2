package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"

	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/site"
)

// sign leaves the campaign's name in a workdir before its first job starts
// there, so that another campaign that writes there can name it. Nothing
// depends on it.
func (e *engine) sign(b *fleet.Backend, pool string) {
	at := b.Spot(pool)
	if e.signed[at.Files()] || b.Conf.Type == "sim" {
		return
	}
	if e.signed == nil {
		e.signed = map[string]bool{}
	}
	e.signed[at.Files()] = true
	name, text := site.Tenant{Campaign: e.Campaign.Name, Dir: e.Campaign.Dir, Host: e.Host}.File(e.st.Lineage)
	sum := sha256.Sum256(text)
	b.Call(func() {
		b.Provider.Push(e.Context(), at.Name(), path.Join(at.Workdir, name), int64(len(text)), "sha256:"+hex.EncodeToString(sum[:]), bytes.NewReader(text))
	}, func() {})
}
