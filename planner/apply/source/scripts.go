package source

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/disk"
)

const (
	most  = 256 << 10 // bytes of a script that are read
	cells = 64        // jobs of a phase whose commands are looked at
)

// ends are of names that tell a script without `#!`.
var ends = []string{".sh", ".bash", ".zsh", ".csh", ".py", ".pl", ".slurm", ".sbatch", ".job"}

// A Script is a file that a command names.
type script struct {
	Name   string // as the command has it
	Path   string // on this machine
	By     string // the word before it that is no option, which may run it; "" at the start
	text   []byte
	dotted bool // a shell reads it with "."
}

// Folders are the places of a phase's scripts, and which of these may be read; targets
// outside, of links too, may not.
type Folders struct {
	Dirs     []string
	Readable []string
}

// Beside are the campaign's folder and that of a phase's source; reads says which
// folders may be read, nil: all.
func Beside(c *lang.Campaign, p *lang.Phase, reads func(dir, what string) error) Folders {
	f := Folders{Dirs: []string{c.Dir}, Readable: []string{c.Dir}}
	if s := p.Source; s != nil && s.Dir != c.Dir {
		f.Dirs = []string{s.Dir, c.Dir} // where jobs begin comes first
		if reads == nil || reads(s.Dir, "") == nil {
			f.Readable = append(f.Readable, s.Dir)
		}
	}
	return f
}

// OfPhase are the scripts that commands of a phase name.
func (f Folders) OfPhase(p *lang.Phase) (out []script) {
	tried := map[string]bool{}
	n := min(p.Len(), cells)
	for k := range n {
		out = append(out, f.of(p, k*p.Len()/n, tried)...)
	}
	return out
}

// OfCell are the scripts that the command of one job names.
func (f Folders) OfCell(p *lang.Phase, cell int) []script { return f.of(p, cell, map[string]bool{}) }

func (f Folders) of(p *lang.Phase, cell int, tried map[string]bool) (out []script) {
	by, dotted := "", false
	for _, word := range commandWords(p, cell) {
		s := script{Name: word, By: by, dotted: dotted}
		if dotted = word == "."; !dotted && !strings.HasPrefix(word, "-") {
			by = word
		}
		if key := s.By + "\x00" + word; tried[key] || word == "." || word == ".." {
			continue
		} else {
			tried[key] = true
		}
		paths := []string{word}
		if !filepath.IsAbs(word) {
			paths = paths[:0]
			for _, dir := range f.Dirs {
				paths = append(paths, filepath.Join(dir, word))
			}
		}
		for _, path := range paths {
			if s.text = f.read(path); s.text != nil {
				s.Path = path
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// commandWords are the words of a job's command and setup that may be files.
func commandWords(p *lang.Phase, cell int) (words []string) {
	r, diags := p.Render(cell, lang.Target{Workdir: ".", SourceDir: ".", Spool: ".", CPUs: 1, Input: func(name string) []string { return []string{name} }})
	if diags.HasErrors() {
		return nil // the planner says so
	}
	for _, w := range strings.FieldsFunc(r.Setup+"\n"+r.Shell+"\n"+strings.Join(r.Argv, "\n"), func(c rune) bool { return strings.ContainsRune(" \t\r\n;&|(){}<>\"'`=$,", c) }) {
		if len(w) < 256 {
			words = append(words, w)
		}
	}
	return words
}

// read is the beginning of a script; nil if the path is none that may be read.
func (f Folders) read(path string) []byte {
	file, err := disk.Open(path, f.Readable)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil || !bytes.HasPrefix(text, []byte("#!")) && !slices.Contains(ends, filepath.Ext(path)) {
		return nil
	}
	return text
}

// Text is a script without its lines of comment.
func (s script) Text() string {
	var b strings.Builder
	for line := range strings.Lines(string(s.text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}
