package syntax

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/wording"
)

// UnknownAttr reports an attribute that a block does not have. It returns the name that was probably meant.
func UnknownAttr(ds *diag.List, spec *schema.Block, a *hclsyntax.Attribute) string {
	attrs, blocks := spec.Names()
	detail := ""
	switch {
	case slices.Contains(blocks, a.Name):
		detail = fmt.Sprintf("%s is a block: write %s { … } without the equals sign.", a.Name, a.Name)
	default:
		detail = noSuch(spec, "attribute", a.Name, append(attrs, blocks...))
	}
	ds.Errorat(a.NameRange, fmt.Sprintf("Unknown attribute %q", wording.Clip(a.Name)), "%s", detail)
	if slices.Contains(blocks, a.Name) {
		return a.Name
	}
	return diag.Suggest(a.Name, append(attrs, blocks...))
}

// UnknownBlock reports a block that another does not hold. It returns the name that was probably meant.
func UnknownBlock(ds *diag.List, spec *schema.Block, c *hclsyntax.Block) string {
	attrs, blocks := spec.Names()
	detail := ""
	switch {
	case slices.Contains(attrs, c.Type):
		detail = fmt.Sprintf("%s is an attribute: write %s = { … } with an equals sign.", c.Type, c.Type)
	case spec != schema.Language && schema.Language.Block(c.Type) != nil:
		detail = fmt.Sprintf("%s block belongs at the top of a file, not in %s block. Is a closing brace missing above?", wording.Capitalised(wording.Article(c.Type)), wording.Article(spec.Name))
	default:
		detail = noSuch(spec, "block", c.Type, append(blocks, attrs...))
	}
	ds.Errorat(hcl.RangeBetween(c.TypeRange, c.OpenBraceRange), fmt.Sprintf("Unknown block %q", wording.Clip(c.Type)), "%s", detail)
	if slices.Contains(attrs, c.Type) {
		return c.Type
	}
	return diag.Suggest(c.Type, append(blocks, attrs...))
}

const retention = "Which checkpoints stay is keep = N, with keep_lowest or keep_highest = METRIC, in checkpoint { … }; files that nobody needs after the job are its discard = [ … ]."

// habits are muster's counterparts of words in other tools' files.
var habits = map[string]string{
	"for_each":      "A phase has one job for each cell of its grid: grid { axes = { NAME = [ … ] } }.",
	"count":         "A phase has one job for each cell of its grid: grid { axes = { NAME = [ … ] } }.",
	"matrix":        "A phase has one job for each cell of its grid: grid { axes = { NAME = [ … ] } }.",
	"resource":      "Declare jobs in a phase \"NAME\" { … } with a job.",
	"provider":      "A place to run is a backend \"TYPE\" \"NAME\" { … }.",
	"module":        "A campaign is one directory; all its files are read together.",
	"data":          "For values from outside use variable blocks, or file(), csvdecode() and jsondecode().",
	"terraform":     "Versions, providers and the state are set in campaign \"NAME\" { … }.",
	"after":         "A phase names the phases before it in depends_on, or takes a file of theirs by an input.",
	"dependencies":  "A phase names the phases before it in depends_on, or takes a file of theirs by an input.",
	"dependency":    "A phase names the phases before it in depends_on, or takes a file of theirs by an input.",
	"needs":         "A phase names the phases before it in depends_on, or takes a file of theirs by an input.",
	"backend":       "Where the jobs of a phase may run is place { candidates = [backend.TYPE.NAME] }, in the phase.",
	"script":        "A job runs a command, such as command = \"sh train.sh ${cell.seed}\".",
	"timeout":       "The limit of an attempt is walltime, in resources { … }.",
	"time":          "The limit of an attempt is walltime, in resources { … }.",
	"mem":           "Memory of a job is memory = \"16GiB\", in resources { … }.",
	"cores":         "Cores are cpus.",
	"cpus_per_task": "Cores of a job are cpus, in resources { … }.",
	"ntasks":        "Cores of a job are cpus, in resources { … }.",
	"gres":          "GPUs of a job are gpus = N, in resources { … }; their kind is gpu { models = [ … ] } in the same block.",
	"array":         "A phase has one job for each cell of its grid; muster makes the arrays.",
	"partition":     "Options of a scheduler belong in options \"slurm\" { … } of the job.",
	"retries":       "Failures are tried again by retry { on = [ … ] } in the phase.",
	"outputs":       "Each output is a block of its own: output \"NAME\" { path = … }.",
	"inputs":        "Each input is a block of its own: input \"NAME\" { from = … }.",
	"keep":          retention,
	"retention":     retention,
	"variables":     "Each variable is a block of its own: variable \"NAME\" { … }.",
}

func noSuch(spec *schema.Block, kind, name string, known []string) string {
	where := wording.Article(spec.Name) + " block"
	if spec == schema.Language {
		where = "a campaign file"
	}
	s := fmt.Sprintf("There is no %s named %q in %s", kind, wording.Clip(name), where)
	homes, near := schema.Homes(name, kind == "attribute"), diag.Suggest(name, known)
	if habit := habits[name]; habit != "" {
		s += ". " + habit
	} else if len(homes) > 0 && spec.Hint == "" && near != name+"s" {
		s += fmt.Sprintf("; it belongs in %s.", strings.Join(homes, " or "))
	} else if near != "" {
		s += fmt.Sprintf("; did you mean %q?", near)
	} else {
		slices.Sort(known)
		s += "; it holds " + strings.Join(slices.Compact(known), ", ") + "."
	}
	if spec.Hint != "" {
		s += " " + spec.Hint
	}
	return s
}

// duplicates reports blocks that are written twice, by type and labels.
func (s *Source) duplicates(b *Block) {
	seen := map[string]*Block{}
	b.Inner = slices.DeleteFunc(b.Inner, func(c *Block) bool {
		if len(c.Labels) == 0 && !c.Spec.Single || c.Spec.Name == "notify" {
			return false
		}
		key := c.Spec.Name + "\x00" + strings.Join(c.Labels, "\x00")
		if c.Spec.Single {
			key = c.Spec.Name
		}
		first := seen[key]
		if first == nil {
			seen[key] = c
			return false
		}
		s.Sure.Errorat(c.Range, fmt.Sprintf("Duplicate %s", Title(c.Syntax)), "It is already at %s line %d. %s", first.Range.Filename, first.Range.Start.Line, onlyOnce(c))
		return true
	})
	if b.Attrs["grid"] != nil && b.One("grid") != nil {
		s.Sure.Errorat(b.One("grid").Range, "Two grids", "The phase has both grid = … and grid { … }. Keep one.")
	}
}

func onlyOnce(c *Block) string {
	if c.Spec.Single {
		return fmt.Sprintf("There can be only one %s block here.", c.Spec.Name)
	}
	return "Give one of them another name."
}
