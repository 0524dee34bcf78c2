package lang

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/providers/offer"
)

// LoadOptions say what to load and with what values.
type LoadOptions struct {
	Dir      string   // the campaign's directory; functions such as file() start here
	VarFiles []string // -var-file, in order
	Vars     []string // -var, "name=value", in order; they win over files
	// CommandLine holds both kinds in the order in which they were written;
	// it is read after VarFiles and Vars.
	CommandLine []Assignment
	Environ     []string // "MUSTER_VAR_name=value" among others

	// Schemas by backend type. A type that is not here is an error.
	Schemas map[string]offer.Schema
	// Stores are the types of `state` block and what they hold; nil: file.
	Stores map[string]offer.Block

	SensitiveKey     []byte // keys the digests of sensitive values
	AllowUnknownVars bool   // variables without a value are unknown rather than an error
	Version          string // muster's own, for required_version; "" is not checked
}

// An Assignment is one -var or -var-file of a command line.
type Assignment struct {
	File string // of -var-file
	Var  string // of -var: "name=value"
}

// Load reads every *.muster.hcl of a directory as one campaign. It returns
// all diagnostics of all files; with errors among them the campaign is nil or
// fit for showing excerpts of its files only.
func Load(o LoadOptions) (*Campaign, diag.List) {
	l := newLoader(o)
	l.readDir()
	return l.load()
}

// LoadFiles is Load from memory: files by name, *.muster.hcl for the campaign
// and *.auto.mustervars.hcl for variables.
func LoadFiles(files map[string][]byte, o LoadOptions) (*Campaign, diag.List) {
	l := newLoader(o)
	for _, name := range sortedKeys(files) {
		l.addFile(name, files[name])
	}
	return l.load()
}

// A loader is the work of one Load. Diagnostics go to two lists: sure holds
// what is wrong whatever stands elsewhere; ds what might follow from a file
// that could not be read, and is dropped when there is one.
type loader struct {
	o        LoadOptions
	c        *Campaign
	bodies   []*hclsyntax.Body // of campaign files, by file name
	varFiles []varFile
	digest   *digester
	broken   bool // a file could not be read or parsed whole: what is missing may be there
	lost     bool // names that others refer to may be there, too
	ds, sure diag.List

	top    *block // all files' blocks as one
	static *hcl.EvalContext
	vars   map[string]*variable
	grids  map[string]*sharedGrid
	phases map[string]*phaseBuild
	order  []*phaseBuild // by file and line, then in order of dependency
	cells  int           // max_cells
	// backendNames are the addresses of all backends, sorted.
	backendNames []string
	classes      []string // failure classes, known and the campaign's own
}

func newLoader(o LoadOptions) *loader {
	return &loader{
		o: o, c: &Campaign{Dir: o.Dir, Files: map[string]*hcl.File{}, RequiredProviders: map[string]RequiredProvider{}},
		digest: newDigester(), vars: map[string]*variable{}, grids: map[string]*sharedGrid{}, phases: map[string]*phaseBuild{},
		cells: grid.DefaultMaxCells,
	}
}

func (l *loader) load() (*Campaign, diag.List) {
	if len(l.bodies) == 0 && !l.broken {
		l.ds.Errorf("There is no campaign here", "%s holds no file named *.muster.hcl. Write one, or run `muster init -from=quickstart` for a first campaign.", l.o.Dir)
		return nil, l.ds
	}
	l.structure()
	l.variables()
	l.locals()
	l.c.static = l.static
	l.campaign()
	l.backends()
	l.failures()
	l.c.Source = l.source(l.top.one("source"), nil)
	l.sharedGrids()
	l.phaseBlocks()
	l.policy()
	l.budgets()
	l.crossChecks()
	l.results()
	l.moves()
	l.imports()
	l.c.Digest = l.digest.sum()
	return l.finish()
}

// finish orders the diagnostics and says in which block each lies.
func (l *loader) finish() (*Campaign, diag.List) {
	ds := l.sure
	if !l.lost {
		ds.Append(l.ds...)
	}
	slices.SortStableFunc(ds, func(a, b diag.Diagnostic) int {
		if a.Subject == nil || b.Subject == nil {
			return cmp.Compare(b2i(a.Subject == nil), b2i(b.Subject == nil))
		}
		return cmp.Or(cmp.Compare(a.Subject.Filename, b.Subject.Filename), cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte), cmp.Compare(a.Severity, b.Severity))
	})
	if ds = distinct(ds); len(ds) > mostTold {
		ds = told(ds)
	}
	for i := range ds {
		l.place(&ds[i])
	}
	return l.c, ds
}

// mostTold is how many diagnostics are told: nobody reads more at once.
const mostTold = 500

// told keeps errors before warnings, in their order, and says how many it
// left out.
func told(ds diag.List) diag.List {
	var out diag.List
	for _, s := range []diag.Severity{diag.Error, diag.Warning} {
		for _, d := range ds {
			if d.Severity == s && len(out) < mostTold {
				out = append(out, d)
			}
		}
	}
	last := out[0].Severity // an error, where there is one
	out.Append(diag.Diagnostic{Severity: last, Summary: "There is more", Detail: fmt.Sprintf("%d more diagnostics are not shown. They will be, once these are mended.", len(ds)-len(out))})
	return out
}

// distinct drops what is said twice of one place: a template is compiled for
// the run and for the smoke.
func distinct(ds diag.List) diag.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(ds, func(d diag.Diagnostic) bool {
		if d.Subject == nil {
			return false
		}
		key := d.Subject.String() + d.Summary + d.Detail
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// place names the top-level block around a diagnostic.
func (l *loader) place(d *diag.Diagnostic) {
	if d.In != "" || d.Subject == nil {
		return
	}
	for _, body := range l.bodies {
		if body.SrcRange.Filename != d.Subject.Filename {
			continue
		}
		at := d.Subject.Start.Byte
		k, _ := slices.BinarySearchFunc(body.Blocks, at, func(b *hclsyntax.Block, at int) int { return cmp.Compare(b.Range().End.Byte, at+1) })
		if k < len(body.Blocks) && body.Blocks[k].Range().Start.Byte <= at {
			d.In = blockName(body.Blocks[k])
			return
		}
	}
}
