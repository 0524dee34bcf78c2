package lang

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/cells"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/policy"
	"github.com/muster-run/muster/lang/rerun"
	"github.com/muster-run/muster/lang/source"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/vars"
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
type Assignment = vars.Assignment

// BackendTypes are the types of backend blocks in a directory's campaign
// files, sorted, so that a caller knows whose schemas Load will need.
func BackendTypes(dir string) []string { return syntax.BackendTypes(dir) }

// Load reads every *.muster.hcl of a directory as one campaign. It returns
// all diagnostics of all files; with errors among them the campaign is nil or
// fit for showing excerpts of its files only.
func Load(o LoadOptions) (*Campaign, diag.List) {
	if abs, err := filepath.Abs(o.Dir); err == nil {
		o.Dir = abs
	}
	l := newLoader(o)
	l.ReadDir(o.Dir)
	return l.load()
}

// LoadFiles is Load from memory: files by name, *.muster.hcl for the campaign
// and *.auto.mustervars.hcl for variables.
func LoadFiles(files map[string][]byte, o LoadOptions) (*Campaign, diag.List) {
	l := newLoader(o)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		l.Add(name, files[name])
	}
	return l.load()
}

// A loader is the work of one Load.
type loader struct {
	*decode.Reader
	o      LoadOptions
	c      *Campaign
	digest *digester

	top      *syntax.Block // all files' blocks as one
	grids    *cells.Grids
	phases   map[string]*phaseBuild
	order    []*phaseBuild // by file and line, then in order of dependency
	cells    int           // max_cells
	backends *backends.Set
	rerun    *rerun.Reader
}

func newLoader(o LoadOptions) *loader {
	return &loader{
		Reader: &decode.Reader{Source: &syntax.Source{Files: map[string]*hcl.File{}, Roots: disk.Roots(o.Environ)}},
		o:      o, c: &Campaign{Dir: o.Dir, RequiredProviders: map[string]RequiredProvider{}, Reads: &disk.Reads{}},
		digest: newDigester(), phases: map[string]*phaseBuild{},
		cells: grid.DefaultMaxCells,
	}
}

func (l *loader) load() (*Campaign, diag.List) {
	if dir, _ := filepath.Abs(l.o.Dir); !utf8.ValidString(dir) {
		l.Perhaps.Errorf("The name of the campaign's folder is not UTF-8", "The folder is %q. Paths of jobs and of their files are recorded as UTF-8 text, so that muster would write to another folder. "+
			"Rename the folder, or one above it that has this name, and run the command again.", dir)
		return nil, l.Perhaps
	}
	if len(l.Campaign) == 0 && !l.Broken {
		almost := l.Almost
		if almost != "" {
			almost = " (" + almost + ")"
		}
		l.Perhaps.Errorf("There is no campaign here", "%s holds no file named *.muster.hcl%s. Write one, or run `muster init -from=quickstart` for a first campaign.", l.o.Dir, almost)
		return nil, l.Perhaps
	}
	l.top = l.Blocks()
	l.variables()
	l.campaign()
	l.backends = backends.Read(l.Reader, l.top.All("backend"), l.o.Schemas)
	l.c.Backends = l.backends.All
	l.rerun, l.c.Failures = rerun.New(l.Reader, l.top.All("failure"))
	l.c.Source = source.Read(l.Reader, l.c.Dir, l.top.One("source"), nil)
	l.grids = cells.Read(l.Reader, l.top.All("grid"), l.cells)
	l.phaseBlocks()
	allows := policy.Reader{Set: l.backends, Phase: l.known}
	l.c.Policy, l.c.Budgets = allows.Policy(l.top.One("policy")), allows.Budgets(l.top.All("budget"))
	l.allowed()
	if len(l.order) == 0 && !l.Sure.HasErrors() {
		l.Perhaps.Warnf("The campaign has no phase", "So it has no jobs. Write one: phase \"NAME\" { … } with job { command = \"…\" } in it.")
	}
	l.crossChecks()
	l.results()
	l.moves()
	l.imports()
	l.c.Digest, l.c.Files = l.digest.sum(), l.Files
	l.Meter.Stop()
	return l.finish()
}

// variables gives var and local their values, and the campaign its digest.
func (l *loader) variables() {
	for _, f := range l.Campaign {
		l.digest.add("file", f.Name, f.Src)
	}
	l.c.Variables = vars.Read(l.Reader, l.top, vars.Given{
		Dir: l.o.Dir, Environ: l.o.Environ, Files: l.o.VarFiles, Flags: l.o.Vars, CommandLine: l.o.CommandLine,
		SensitiveKey: l.o.SensitiveKey, AllowUnknown: l.o.AllowUnknownVars, Reads: l.c.Reads,
	})
	for _, v := range l.c.Variables {
		if v.Known {
			l.digest.add("variable", v.Name, []byte(v.Text+v.Digest))
		}
	}
	l.c.static = l.Static
}

// finish orders the diagnostics and says in which block each lies.
func (l *loader) finish() (*Campaign, diag.List) {
	ds := l.Sure
	if !l.Lost {
		ds.Append(l.Perhaps...)
	}
	ds = unread(ds)
	slices.SortStableFunc(ds, func(a, b diag.Diagnostic) int {
		if a.Subject == nil || b.Subject == nil {
			return cmp.Compare(b2i(a.Subject == nil), b2i(b.Subject == nil))
		}
		return cmp.Or(cmp.Compare(a.Subject.Filename, b.Subject.Filename), cmp.Compare(a.Subject.Start.Byte, b.Subject.Start.Byte), cmp.Compare(a.Severity, b.Severity))
	})
	if ds = once(ds); len(ds) > mostTold {
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

// once drops what is said twice of one place: a template is compiled for
// the run and for the smoke.
func once(ds diag.List) diag.List {
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

// unread is the one diagnostic that a campaign which takes too much work to read has:
// what else is wrong in it is not known.
func unread(ds diag.List) diag.List {
	for _, d := range ds {
		if d.Summary == expr.TooMuchWork {
			return diag.List{d}
		}
	}
	return ds
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
	for _, f := range l.Campaign {
		body := f.Body
		if body.SrcRange.Filename != d.Subject.Filename {
			continue
		}
		at := d.Subject.Start.Byte
		k, _ := slices.BinarySearchFunc(body.Blocks, at, func(b *hclsyntax.Block, at int) int { return cmp.Compare(b.Range().End.Byte, at+1) })
		if k < len(body.Blocks) && body.Blocks[k].Range().Start.Byte <= at {
			d.In = syntax.Title(body.Blocks[k])
			return
		}
	}
}
