package backends

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
)

// OwnProfile reports whether a backend's profile is a file of the campaign's, and
// none that its provider ships.
func (b *Backend) OwnProfile() bool { return strings.HasSuffix(b.Profile, ".hcl") }

// mostProfile is the largest profile that is read: it goes whole in one message
// to its provider, and is in the state.
const mostProfile = 256 << 10

// profileFile is the text of the campaign's own profile. It is read as file()
// reads, from the campaign's folder, so that a change is noticed as in any file
// that the campaign reads.
func (s *Set) profileFile(b *syntax.Block, path string) string {
	on := func(function string) (cty.Value, error) {
		return s.Static.Functions[function].Call([]cty.Value{cty.StringVal(path)})
	}
	text, err := on("file")
	if err != nil {
		at := path
		if full, err := on("abspath"); err == nil {
			at = full.AsString()
		}
		s.Wrong(b.Expr("profile"), "profile", "A profile that ends in .hcl is a file, from the campaign's folder: %v. Looked for %s.", err, wording.Clip(at))
		return ""
	}
	raw, _ := text.Unmark()
	src := raw.AsString()
	if len(src) > mostProfile {
		s.Wrong(b.Expr("profile"), "profile", "%q holds %s, and a profile at most %s.", wording.Clip(path), units.FormatSize(int64(len(src))), units.FormatSize(mostProfile))
		return ""
	}
	_, diags := syntax.Scan(path, []byte(src))
	s.Sure.Append(diags...)
	return src
}
