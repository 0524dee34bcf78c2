package source

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/lang"
)

// shells take the CR at the end of a line for a part of its last word.
var shells = []string{"sh", "bash", "dash", "ksh", "mksh", "zsh", "ash", "csh", "tcsh", "source", "sbatch", "srun"}

// tolerant are interpreters that read lines with CR LF as others.
var tolerant = []string{"python", "rscript", "julia", "perl", "ruby", "node", "php", "lua", "octave", "matlab", "java", "deno", "uv", "ipython", "torchrun", "accelerate", "snakemake"}

var shellEnds = []string{".sh", ".bash", ".zsh", ".ksh", ".csh", ".slurm", ".sbatch"}

// Unreadable reports whether the program that runs a script takes Windows line endings for a
// part of its words. The kernel does in the first line of a script run by its name; a shell in
// every line.
func (s script) Unreadable() bool {
	first, rest, _ := bytes.Cut(s.text, []byte("\n"))
	by := strings.ToLower(path.Base(s.By))
	interpreter, shebang := bytes.CutPrefix(first, []byte("#!"))
	switch {
	case s.dotted || slices.Contains(shells, by):
		return bytes.Contains(s.text, []byte("\r\n"))
	case slices.ContainsFunc(tolerant, func(name string) bool { return strings.HasPrefix(by, name) }):
		return false
	case shebang && bytes.HasSuffix(first, []byte("\r")):
		return true
	case shebang:
		words := bytes.Fields(interpreter)
		isShell := slices.ContainsFunc(words, func(w []byte) bool { return slices.Contains(shells, path.Base(string(w))) })
		return isShell && bytes.Contains(rest, []byte("\r\n"))
	}
	return slices.Contains(shellEnds, filepath.Ext(s.Path)) && bytes.Contains(s.text, []byte("\r\n"))
}

// Endings warns of scripts that commands name and what runs them cannot read. done
// says which phases start nothing, nil: every phase may; reads is as for Beside.
func Endings(c *lang.Campaign, done func(phase string) bool, reads func(dir, what string) error) (diags diag.List) {
	for _, p := range c.Phases {
		if done != nil && done(p.Name) {
			continue
		}
		if names := unreadable(Beside(c, p, reads).OfPhase(p)); len(names) > 0 {
			at := p.Range
			diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "Line endings of Windows in a script", Subject: &at, Address: "phase." + p.Name,
				Detail: fmt.Sprintf("A command of phase.%s names %s. Its interpreter reads the CR as part of the last word of each line.", p.Name, inWindows(names))})
		}
	}
	return diags
}

// unreadable lists the scripts that their interpreter cannot read.
func unreadable(all []script) (names []string) {
	for _, s := range all {
		if s.Unreadable() && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// inWindows says of files that they have the line endings of Windows, and how to
// convert them.
func inWindows(names []string) string {
	const shown = 3
	and, has, quoted := "", "has", ""
	if n := len(names); n > 1 {
		has = "have"
		if n > shown {
			names, and = names[:shown], fmt.Sprintf(" and %d more", n-shown)
		}
	}
	for _, name := range names {
		quoted += " " + shell.Quote(name)
	}
	return fmt.Sprintf("%s%s, which %s the line endings of Windows (CR LF); to convert: `sed -i 's/\\r$//'%s`", strings.Join(names, ", "), and, has, quoted)
}
