package launch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers"
)

// lockName is the lock file's name, beside the campaign.
const lockName = ".muster.lock.hcl"

// A Lock pins external providers: one block a provider, with a hash for
// every platform it was used on, so that a colleague's lock file is as good
// in CI. The zero value is an empty lock.
type Lock struct {
	Providers map[string]Locked
}

// Locked pins one provider.
type Locked struct {
	Version string            // the version in the provider's handshake
	Hashes  map[string]string // "linux/amd64" → "sha256:…" of the program's file
}

// Platform is the key of this machine's hashes.
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

var (
	hashForm     = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	platformForm = lazyregexp.New(`^[a-z0-9]+/[a-z0-9]+$`)
)

const lockHead = `# This file pins the external providers of this campaign. It is kept by
# "muster init"; commit it, so that everybody runs the same programs.
`

// maxLock is the largest lock file that is read, bytes.
const maxLock = 1 << 20

// readLock reads a lock file; a missing one is an empty lock.
func readLock(path string) (*Lock, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{}, nil
	}
	if err != nil {
		return nil, unreadable(err.Error())
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxLock+1))
	if err != nil {
		return nil, unreadable(err.Error())
	}
	if len(src) > maxLock {
		return nil, unreadable(path + " is larger than 1 MiB.")
	}
	return parseLock(src, path)
}

// parseLock reads a lock file's text; the errors name file and line.
func parseLock(src []byte, name string) (*Lock, error) {
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, lockFault(diags, src)
	}
	content, diags := file.Body.Content(&hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: "provider", LabelNames: []string{"name"}}},
	})
	lock := &Lock{Providers: map[string]Locked{}}
	for _, b := range content.Blocks {
		if !plainName.MatchString(b.Labels[0]) {
			diags = append(diags, lockError(b.DefRange, "Name is not a provider's", "%q is not lower-case letters, digits, - and _.", b.Labels[0]))
			continue
		}
		if _, dup := lock.Providers[b.Labels[0]]; dup {
			diags = append(diags, lockError(b.DefRange, "Provider is locked twice", "Keep one of the blocks of %q.", b.Labels[0]))
			continue
		}
		locked, more := parseLocked(b.Body)
		diags = append(diags, more...)
		lock.Providers[b.Labels[0]] = locked
	}
	if diags.HasErrors() {
		return nil, lockFault(diags, src)
	}
	return lock, nil
}

// lockFault names the wrong line. HCL's own words are about blocks and braces, which the
// reader did not write: only the line is shown.
func lockFault(diags hcl.Diagnostics, src []byte) error {
	d := diags[0]
	what := d.Summary + ". " + d.Detail
	if d.Extra != ours {
		line := bytes.TrimSpace(bytes.Split(src, []byte("\n"))[d.Subject.Start.Line-1])
		what = fmt.Sprintf("muster did not write this: %s", strings.ToValidUTF8(string(line[:min(len(line), 60)]), "�"))
	}
	return unreadable(fmt.Sprintf("%s, line %d: %s", d.Subject.Filename, d.Subject.Start.Line, what))
}

func unreadable(detail string) error {
	return &providers.Error{
		Class: providers.Invalid, Summary: "The lock file cannot be read", Detail: detail,
		Hint: "Restore it from version control. Or remove it and run muster init, which locks the programs that are installed now.",
	}
}

func parseLocked(body hcl.Body) (out Locked, diags hcl.Diagnostics) {
	content, diags := body.Content(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "version"}, {Name: "hashes"}},
	})
	if a := content.Attributes["version"]; a != nil {
		v, more := a.Expr.Value(nil)
		diags = append(diags, more...)
		if v.Type() != cty.String || v.IsNull() {
			diags = append(diags, lockError(a.Range, "Version is not text", `It looks like "1.2.0".`))
		} else {
			out.Version = v.AsString()
		}
	}
	a := content.Attributes["hashes"]
	if a == nil || content.Attributes["version"] == nil {
		return out, append(diags, lockError(body.MissingItemRange(), "A provider's version or hashes are missing", "The block needs both."))
	}
	v, more := a.Expr.Value(nil)
	diags = append(diags, more...)
	if v.IsNull() || !v.Type().IsObjectType() {
		return out, append(diags, lockError(a.Range, "Hashes are not a map", `It looks like { "linux/amd64" = "sha256:…" }.`))
	}
	out.Hashes = map[string]string{}
	for platform, h := range v.AsValueMap() {
		if !platformForm.MatchString(platform) {
			diags = append(diags, lockError(a.Range, "Platform is not OS/ARCH", "%q is not of the form linux/amd64.", platform))
			continue
		}
		if h.Type() != cty.String || h.IsNull() || !hashForm.MatchString(h.AsString()) {
			diags = append(diags, lockError(a.Range, "Hash is not a sha256",
				"The hash of %s is not of the form sha256: and 64 hexadecimal digits.", platform))
			continue
		}
		out.Hashes[platform] = h.AsString()
	}
	return out, diags
}

// ours marks a diagnostic that is not HCL's.
const ours = "ours"

func lockError(at hcl.Range, summary, detail string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: &at, Extra: ours}
}

// Set pins a provider's hash on a platform, and reports whether that changes
// the lock. Hashes of another version on other platforms are dropped.
func (l *Lock) Set(name, version, platform, hash string) bool {
	old := l.Providers[name]
	if old.Version == version && old.Hashes[platform] == hash {
		return false
	}
	next := Locked{Version: version, Hashes: map[string]string{platform: hash}}
	if old.Version == version {
		for p, h := range old.Hashes {
			if p != platform {
				next.Hashes[p] = h
			}
		}
	}
	if l.Providers == nil {
		l.Providers = map[string]Locked{}
	}
	l.Providers[name] = next
	return true
}

// Bytes is the file's text: canonical, sorted.
func (l *Lock) Bytes() []byte {
	f := hclwrite.NewEmptyFile()
	for i, name := range slices.Sorted(maps.Keys(l.Providers)) {
		if i > 0 {
			f.Body().AppendNewline()
		}
		p := l.Providers[name]
		b := f.Body().AppendNewBlock("provider", []string{name}).Body()
		b.SetAttributeValue("version", cty.StringVal(p.Version))
		hashes := map[string]cty.Value{}
		for platform, h := range p.Hashes {
			hashes[platform] = cty.StringVal(h)
		}
		b.SetAttributeValue("hashes", cty.ObjectVal(hashes))
	}
	return append([]byte(lockHead+"\n"), hclwrite.Format(f.Bytes())...)
}

// Write replaces the file as a whole, if its text changes.
func (l *Lock) Write(path string) error {
	text := l.Bytes()
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	if err := atomicfile.Write(path, text, 0o644); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	return nil
}

// hashFile is the hash of a file as it belongs in a lock.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash provider: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash provider %s: %w", path, err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
