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
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/providers/offer"
)

// LoadOptions name the files to load and the values of variables.
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

	SensitiveKey     []byte // keys the digests of sensitive values
	AllowUnknownVars bool   // variables without a value are unknown rather than an error
	Version          string // muster's own, for required_version; "" is not checked
}

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
}

func newLoader(o LoadOptions) *loader {
	return &loader{
		Reader: &decode.Reader{Source: &syntax.Source{Files: map[string]*hcl.File{}, Roots: disk.Roots(o.Environ)}},
		o:      o, c: &Campaign{Dir: o.Dir, RequiredProviders: map[string]RequiredProvider{}}, digest: newDigester(),
	}
}

func (l *loader) load() (*Campaign, diag.List) {
	if !l.readable() {
		return nil, l.Perhaps
	}
	r, c, top := l.Reader, l.c, l.Blocks()
	l.variables(top)
	maxCells := readHead(r, c, l.o.Version, top.One("campaign"))
	set := backends.Read(r, top.All("backend"), l.o.Schemas)
	c.Backends = set.All
	var again *rerunReader
	again, c.Failures = newRerunReader(r, top.All("failure"))
	c.Source = readSource(r, c.Dir, top.One("source"), nil)
	grids := readGrids(r, top.All("grid"), maxCells)
	ps := &phases{Reader: r, byName: map[string]*phaseBuild{}}
	(&phaseReader{ps, c.Dir, c.Source, grids, set, again}).read(top.All("phase"))
	c.Phases = ps.compile(&compiler{r, set, l.o.Schemas})
	allows := policyReader{Set: set, phases: ps}
	c.Policy, c.Budgets = allows.policy(top.One("policy")), allows.budgets(top.All("budget"))
	ps.allowed(c.Policy)
	allows.seeds(top.One("policy"))
	c.Known = ps.patterns(top.All("known"))
	if len(c.Phases) == 0 && !l.Sure.HasErrors() {
		l.Perhaps.Warnf("The campaign has no phase", "So it has no jobs. Write one: phase \"NAME\" { … } with job { command = \"…\" } in it.")
	}
	if !l.Broken {
		(&checker{ps, c.Dir, c.Backends, l.o.Schemas}).check()
	}
	c.Results = resultReader{ps}.read(top.All("result"))
	named := addressReader{ps, set}
	c.Moved = named.moves(top.All("moved"))
	c.Imports = named.imports(top.All("import"), c.Moved)
	c.Digest, c.Files = l.digest.sum(), l.Files
	l.Meter.Stop()
	return l.finish()
}

// readable reports whether there is a campaign, and why not.
func (l *loader) readable() bool {
	if dir, _ := filepath.Abs(l.o.Dir); !utf8.ValidString(dir) {
		l.Perhaps.Errorf("The name of the campaign's folder is not UTF-8", "The folder is %q. Paths of jobs and of their files are recorded as UTF-8 text, so that muster would write to another folder. "+
			"Rename the folder, or one above it that has this name, and run the command again.", dir)
		return false
	}
	if len(l.Campaign) == 0 && !l.Broken {
		almost := l.Almost
		if almost != "" {
			almost = " (" + almost + ")"
		}
		l.Perhaps.Errorf("There is no campaign here", "%s holds no file named *.muster.hcl%s. Write one, or run `muster init -from=quickstart` for a first campaign.", l.o.Dir, almost)
		return false
	}
	return true
}

// variables gives var and local their values, and the campaign its digest.
func (l *loader) variables(top *syntax.Block) {
	for _, f := range l.Campaign {
		l.digest.add("file", f.Name, f.Src)
	}
	l.c.Variables = readVariables(l.Reader, top, l.o)
	for _, v := range l.c.Variables {
		if v.Known {
			l.digest.add("variable", v.Name, []byte(v.Text+v.Digest))
		}
	}
	l.c.static = l.Static
}

// finish orders the diagnostics and says which block each is in.
func (l *loader) finish() (*Campaign, diag.List) {
	ds := l.Sure
	if !l.Lost {
		ds.Append(l.Perhaps...)
	}
	ds = slices.DeleteFunc(unread(ds), l.Half)
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

// mostTold is how many diagnostics are reported: nobody reads more at once.
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
	out.Append(diag.Diagnostic{Severity: last, Summary: "There is more", Detail: fmt.Sprintf("%d more diagnostics are not shown. Fix these to see them.", len(ds)-len(out))})
	return out
}

// once drops equal diagnostics of one place: a template is compiled for the run and for the
// smoke.
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
