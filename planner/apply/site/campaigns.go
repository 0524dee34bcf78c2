package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
)

// A Tenant is a campaign that writes to a workdir.
type Tenant struct {
	Campaign string `json:"campaign"`
	Dir      string `json:"dir"`  // of the campaign
	Host     string `json:"host"` // where that is
}

// TenantOf is a campaign as it signs a workdir.
func TenantOf(c *lang.Campaign) Tenant {
	host, _ := os.Hostname()
	return Tenant{Campaign: c.Name, Dir: c.Dir, Host: host}
}

// mostTenant bounds the file of a tenant, in bytes.
const mostTenant = 64 << 10

// File is the path of a tenant's file below a workdir, and its text.
func (t Tenant) File(lineage string) (name string, text []byte) {
	text, _ = json.Marshal(t) // three texts
	return path.Join(providers.CampaignsDir, lineage+".json"), append(text, '\n')
}

// A Signature is a tenant's, in a workdir, under the lineage of its state.
type Signature struct {
	Tenant
	Lineage string
}

// Others are the campaigns that wrote to a spot, other than that of a lineage,
// in words.
func Others(ctx context.Context, p providers.Provider, at Filesystem, lineage string, own Tenant) (out []string) {
	for _, s := range Signatures(ctx, p, at) {
		if s.Lineage == lineage {
			continue
		}
		words := fmt.Sprintf("campaign %q of %s on %s", s.Campaign, s.Dir, s.Host)
		if s.Tenant == own {
			words = "an earlier state of this campaign"
		}
		if !slices.Contains(out, words) {
			out = append(out, words)
		}
	}
	slices.Sort(out)
	return out
}

// Signatures are those of all campaigns that wrote to a spot. Unreadable ones are left out.
func Signatures(ctx context.Context, p providers.Provider, at Filesystem) (out []Signature) {
	files, err := p.List(ctx, at.Name(), []string{path.Join(at.Workdir, providers.CampaignsDir, "*.json")})
	if err != nil {
		return nil
	}
	for _, f := range files {
		if f.Size > mostTenant {
			continue
		}
		var text bytes.Buffer
		var t Tenant
		if p.Pull(ctx, at.Name(), f.Path, 0, &text) != nil || json.Unmarshal(text.Bytes(), &t) != nil || t.Campaign == "" {
			continue
		}
		out = append(out, Signature{t, strings.TrimSuffix(path.Base(f.Path), ".json")})
	}
	return out
}
