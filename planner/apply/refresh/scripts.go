package refresh

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/planner/observed"
)

const (
	scriptMost  = 256 << 10 // bytes of a script that are read
	scriptCells = 64        // jobs of a phase of which the commands are looked at
)

// scriptEnds are of names that tell a script without `#!`.
var scriptEnds = []string{".sh", ".bash", ".zsh", ".csh", ".py", ".pl", ".slurm", ".sbatch", ".job"}

// scripts reads the scripts that commands name, where this machine has them:
// beside the campaign, in its source, in a workdir that lies here.
func (o *observer) scripts(asks []*ask) {
	o.readable = []string{o.Campaign.Dir}
	may := func(dir string) {
		if filepath.IsAbs(dir) && o.reads(dir, "") == nil {
			o.readable = append(o.readable, dir)
		}
	}
	for _, a := range asks {
		may(a.conf.Workdir)
	}
	for _, p := range o.Campaign.Phases {
		dirs := []string{o.Campaign.Dir}
		if s := p.Source; s != nil {
			dirs = append(dirs, s.Dir)
		} else if s := o.Campaign.Source; s != nil {
			dirs = append(dirs, s.Dir)
		}
		for _, dir := range dirs {
			may(dir)
		}
		for _, a := range asks {
			if filepath.IsAbs(a.conf.Workdir) {
				dirs = append(dirs, a.conf.Workdir)
			}
		}
		if list := o.scriptsOf(p, dirs); len(list) > 0 {
			o.mu.Lock()
			if o.out.Observed.Scripts == nil {
				o.out.Observed.Scripts = map[string][]observed.Script{}
			}
			o.out.Observed.Scripts[p.Name] = list
			o.mu.Unlock()
		}
	}
}

// scriptsOf are the scripts that commands of a phase name, below one of the folders.
func (o *observer) scriptsOf(p *lang.Phase, dirs []string) (out []observed.Script) {
	tried := map[string]bool{}
	for k := range min(p.Len(), scriptCells) {
		for _, word := range commandWords(p, k*p.Len()/min(p.Len(), scriptCells)) {
			if tried[word] {
				continue
			}
			tried[word] = true
			paths := []string{word}
			if !filepath.IsAbs(word) {
				paths = paths[:0]
				for _, dir := range dirs {
					paths = append(paths, filepath.Join(dir, word))
				}
			}
			for _, path := range paths {
				if text := o.scriptText(path); text != "" {
					out = append(out, observed.Script{Name: word, Text: text})
					break
				}
			}
		}
	}
	return out
}

// commandWords are the words of a job's command that may be files.
func commandWords(p *lang.Phase, cell int) (words []string) {
	r, diags := p.Render(cell, lang.Site{Workdir: ".", SourceDir: ".", Spool: ".", CPUs: 1, Input: func(name string) []string { return []string{name} }})
	if diags.HasErrors() {
		return nil // the planner says so
	}
	for _, w := range strings.FieldsFunc(r.Setup+"\n"+r.Shell+"\n"+strings.Join(r.Argv, "\n"), func(c rune) bool { return strings.ContainsRune(" \t\r\n;&|(){}<>\"'`=$,", c) }) {
		if len(w) < 256 && w != "." && w != ".." {
			words = append(words, w)
		}
	}
	return words
}

// scriptText is what a script does, without its lines of comment; "" if the path
// is no script that can be read here.
func (o *observer) scriptText(path string) string {
	f, err := disk.Open(path, o.readable)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, scriptMost))
	if err != nil || !bytes.HasPrefix(text, []byte("#!")) && !slices.Contains(scriptEnds, filepath.Ext(path)) {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}
