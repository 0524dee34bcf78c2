package ssh

import (
	"embed"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/offer"
)

// files are the facts about platforms whose machines a person rents by hand, as data:
// when they delete something, and which folders survive what. There is one HCL file
// for each platform, in the form that TEMPLATE.hcl explains.
//
//go:embed profiles/*.hcl
var files embed.FS

// A Profile is the facts of a platform.
type Profile struct {
	Site     string // "AutoDL"
	Verified string // month: "2026-06"
	Home     string // of the user whom its machines let in: "/root"
	Notes    []string
	Clocks   []offer.Clock
	Folders  []Folder
}

// A Folder is a place of files on a machine, and the events that they survive.
type Folder struct {
	Path    string    `hcl:"path,label"`
	Stop    bool      `hcl:"survives_stop,optional"`
	Release bool      `hcl:"survives_release,optional"`
	Note    string    `hcl:"note,optional"`
	At      hcl.Range `hcl:",def_range"`
}

// Folder is the one that a path of a machine is in; nil where none is known.
func (p *Profile) Folder(at string) (best *Folder) {
	if at == "~" || strings.HasPrefix(at, "~/") {
		at = path.Join(p.Home, at[1:])
	}
	for i := range p.Folders {
		f := &p.Folders[i]
		inside := f.Path == "/" || at == f.Path || strings.HasPrefix(at, f.Path+"/")
		if inside && (best == nil || len(f.Path) > len(best.Path)) {
			best = f
		}
	}
	return best
}

// String describes it.
func (f *Folder) String() string {
	text := f.Path + ", which survives neither a stop nor a release"
	switch {
	case f.Release:
		text = f.Path + ", which survives a stop and a release"
	case f.Stop:
		text = f.Path + ", which survives a stop and no release"
	}
	if f.Note != "" {
		text += " (" + f.Note + ")"
	}
	return text
}

// Kept are the folders that survive a release.
func (p *Profile) Kept() (out []string) {
	for _, f := range p.Folders {
		if f.Release {
			out = append(out, f.Path)
		}
	}
	return out
}

// profiles are those that come with muster, and a campaign's own.
var profiles = facts.Profiles[Profile]{Files: files, Of: "ssh", Parse: parseProfile}

// parseProfile reads a profile's source. The error names every mistake with its line.
func parseProfile(name, _ string, src []byte) (Profile, error) {
	var s struct {
		Site     hcl.Expression `hcl:"site,optional"`
		Verified hcl.Expression `hcl:"verified,optional"`
		Home     string         `hcl:"home,optional"`
		Notes    []string       `hcl:"notes,optional"`
		Clocks   []facts.Clock  `hcl:"clock,block"`
		Folders  []Folder       `hcl:"folder,block"`
	}
	r := &facts.Reader{Word: "folder"}
	if !r.Read(name, src, &s) {
		return Profile{}, r.Err(name)
	}
	r.Must("site", s.Site, `site = "AutoDL"`)
	r.Must("verified", s.Verified, `verified = "2026-06", the month in which the facts were compared with the platform`)
	p := Profile{Site: r.Text("site", s.Site), Verified: r.Month("verified", s.Verified), Home: s.Home, Notes: s.Notes, Folders: s.Folders}
	for _, c := range s.Clocks {
		p.Clocks = append(p.Clocks, r.Clock(c))
	}
	var names []string
	for _, f := range s.Folders {
		r.Once("folder", f.Path, names, f.At)
		names = append(names, f.Path)
		if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path {
			r.WrongAt(f.At, "folder %q is not a plain absolute path: write \"/data\"", f.Path)
		}
		if f.Release && !f.Stop {
			r.WrongAt(f.At, "folder %q survives a release and no stop: a release stops, too", f.Path)
		}
	}
	if r.Wrong() {
		return Profile{}, r.Err(name)
	}
	return p, nil
}
