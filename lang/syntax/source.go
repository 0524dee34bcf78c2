// Package syntax reads a campaign's files: bounded in size, as text, as HCL,
// and as blocks whose names the language's tables know. It reports and skips
// everything else.
package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/disk"
)

// The names of files that are read.
const (
	campaignSuffix  = ".muster.hcl"
	VariablesSuffix = ".auto.mustervars.hcl"
)

// A File is one file that could be parsed, if only in part.
type File struct {
	Name string
	Src  []byte // as it was read
	Body *hclsyntax.Body
}

// A Source is the text of a campaign.
type Source struct {
	Campaign  []File               // *.muster.hcl in the order added
	Variables []File               // *.auto.mustervars.hcl in the order added
	Roots     []string             // folders outside the campaign's to which links of its files may lead
	Files     map[string]*hcl.File // all, by name, for source excerpts
	Broken    bool                 // a file could not be read or parsed whole: a missing name may be in it
	Lost      bool                 // names that others refer to may be there, too
	Almost    string               // a file that looks like one of a campaign, and why it is none
	Sure      diag.List            // errors that are certain whatever else is in the file

	slips map[string][]hcl.Pos // where the syntax of a file is at fault, but for a brace that is never closed
}

// ReadDir reads a directory's files in lexical order.
func (s *Source) ReadDir(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.Broken, s.Lost = true, true
		s.Sure.Errorf("The campaign's directory cannot be read", "%v.", err)
		return
	}
	for _, e := range entries {
		name := e.Name()
		switch isCampaign := strings.HasSuffix(name, campaignSuffix); {
		case strings.HasPrefix(name, "."):
			continue
		case e.IsDir() && isCampaign:
			s.Almost = name + " is a folder, and is not read"
			continue
		case e.IsDir():
			continue
		case !isCampaign && !strings.HasSuffix(name, VariablesSuffix):
			if base, ok := strings.CutSuffix(name, ".hcl"); ok && !strings.HasSuffix(base, ".mustervars") {
				s.Almost = name + " is not read: it would be as " + base + campaignSuffix
			}
			continue
		}
		src, err := read(filepath.Join(dir, name), func(path string) (*os.File, error) { return disk.Open(path, append([]string{dir}, s.Roots...)) })
		if err != nil {
			s.Broken, s.Lost = true, true
			s.Sure.Errorf("A file cannot be read", "%v.", err)
			continue
		}
		s.Add(name, src)
	}
}

// ReadCapped reads a file, at most one byte more than Scan allows.
func ReadCapped(path string) ([]byte, error) { return read(path, os.Open) }

func read(path string, open func(string) (*os.File, error)) ([]byte, error) {
	info, err := os.Stat(path)
	if link, _ := os.Readlink(path); link != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is a link to %s, which is not there", path, link)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, min(info.Size(), MaxBytes+4)+1)
	n := 0
	for n < len(buf) {
		m, err := f.Read(buf[n:])
		if n += m; m == 0 || err != nil {
			break
		}
	}
	return buf[:n], nil
}

// Add parses one file and keeps its body.
func (s *Source) Add(name string, src []byte) {
	body, ok := s.Parse(name, src)
	switch f := (File{name, src, body}); {
	case !ok:
		return
	case strings.HasSuffix(name, campaignSuffix):
		s.Campaign = append(s.Campaign, f)
	case strings.HasSuffix(name, VariablesSuffix):
		s.Variables = append(s.Variables, f)
	}
}

// Parse reads HCL. It returns the readable part of a broken file, too.
func (s *Source) Parse(name string, src []byte) (*hclsyntax.Body, bool) {
	if s.Files == nil {
		s.Files = map[string]*hcl.File{}
	}
	text, ds := Scan(name, src)
	s.Files[name] = &hcl.File{Bytes: text, Body: hcl.EmptyBody()}
	if ds.HasErrors() {
		s.Broken, s.Lost = true, true
		s.Sure.Append(ds...)
		return nil, false
	}
	// A heredoc would hand the CR of each line to a shell.
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	s.Files[name] = &hcl.File{Bytes: text, Body: hcl.EmptyBody()}
	file, hds := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	if d, ok := foreign(name, text); ok && hds.HasErrors() {
		s.Broken, s.Lost = true, true
		s.Sure.Append(d)
		return nil, false
	}
	s.Sure.Append(syntaxHints(hds, text)...)
	if hds.HasErrors() {
		s.Broken = true
		s.slip(name, hds)
		lost := file == nil || losesNames(hds, file)
		more, repaired := moreOneLiners(name, text, hds)
		s.Sure.Append(more...)
		if lost && repaired != nil {
			file = repaired // the rest is read, too
		}
		s.Lost = s.Lost || lost
	}
	if file == nil {
		return nil, false
	}
	s.Files[name] = file
	body, ok := file.Body.(*hclsyntax.Body)
	return body, ok
}

func (s *Source) slip(name string, hds hcl.Diagnostics) {
	if s.slips == nil {
		s.slips = map[string][]hcl.Pos{}
	}
	for _, h := range hds {
		if h.Severity == hcl.DiagError && h.Subject != nil && h.Summary != "Unclosed configuration block" {
			s.slips[name] = append(s.slips[name], h.Subject.Start)
		}
	}
}

// strayed reports whether a block is where it is because of an error
// of syntax before it, in the same outer block.
func (s *Source) strayed(of, c *hclsyntax.Block) bool {
	return slices.ContainsFunc(s.slips[c.TypeRange.Filename], func(p hcl.Pos) bool {
		return of.TypeRange.Start.Byte < p.Byte && p.Byte <= c.TypeRange.Start.Byte
	})
}

// Half reports whether an error concerns a value at whose very end an error of syntax
// begins: the 1 of an unquoted 1m. Only the latter says what to write.
func (s *Source) Half(d diag.Diagnostic) bool {
	if d.Subject == nil || s.slipsAt(d.Subject.Filename, d.Subject.Start.Byte) || !s.slipsAt(d.Subject.Filename, d.Subject.End.Byte) {
		return false
	}
	f := s.Files[d.Subject.Filename]
	at := d.Subject.End.Byte
	return f != nil && at < len(f.Bytes) && unicode.IsLetter(rune(f.Bytes[at]))
}

func (s *Source) slipsAt(name string, at int) bool {
	return slices.ContainsFunc(s.slips[name], func(p hcl.Pos) bool { return p.Byte == at })
}

// Text is the source of a range.
func (s *Source) Text(r hcl.Range) string {
	if f := s.Files[r.Filename]; f != nil && r.CanSliceBytes(f.Bytes) {
		return string(r.SliceBytes(f.Bytes))
	}
	return ""
}
