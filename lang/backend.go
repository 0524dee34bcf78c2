package lang

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// localAddress is the backend that is always there.
const localAddress = "local.local"

// backends reads the backend blocks and adds local.local.
func (l *loader) backends() {
	for _, b := range l.top.all("backend") {
		l.c.Backends = append(l.c.Backends, l.backend(b))
	}
	if !slices.ContainsFunc(l.c.Backends, func(b *Backend) bool { return b.Address() == localAddress }) {
		l.c.Backends = append(l.c.Backends, &Backend{Type: "local", Name: "local", Config: json.RawMessage("{}"), Implied: true})
	}
	slices.SortFunc(l.c.Backends, func(a, b *Backend) int { return strings.Compare(a.Address(), b.Address()) })
	for _, b := range l.c.Backends {
		l.backendNames = append(l.backendNames, b.Address())
	}
}

func (l *loader) backend(b *block) *Backend {
	out := &Backend{
		Type: b.labels[0], Name: b.labels[1], Profile: l.text(b, "profile"), Workdir: l.text(b, "workdir"), Setup: l.text(b, "setup"),
		Env: l.textMap(b, "env"), MaxParallel: l.integer(b, "max_parallel", 1, 0), Hold: l.duration(b, "hold", 0),
		OnHold: l.oneOf(b, "on_hold", "stop", "release", "keep"), Config: json.RawMessage("{}"), Range: b.rng,
	}
	l.envNames(b, "env", out.Env)
	if e := b.expr("price"); e != nil {
		out.Price = l.price(e)
	}
	l.noSecret(b, "workdir")
	schema, ok := l.o.Schemas[out.Type]
	if !ok {
		l.sure.Errorat(b.syntax.LabelRanges[0], "Unknown type of backend", "There is no provider for backends of type %q%s %s", clip(out.Type),
			didYouMean(out.Type, sortedKeys(l.o.Schemas)), l.knownTypes())
		return out
	}
	out.Config, out.Sensitive = l.config(schema.Config, b.syntax.Body, "backend "+out.Type, backendSpec)
	if out.Profile != "" && schema.Profiles != nil {
		if _, ok := schema.Profiles[out.Profile]; !ok {
			l.wrong(b.expr("profile"), "profile", "The %s provider has no profile %q%s Shipped: %s.", out.Type, clip(out.Profile), didYouMean(out.Profile, sortedKeys(schema.Profiles)), strings.Join(sortedKeys(schema.Profiles), ", "))
		}
	}
	if w := out.Workdir; w != "" && schema.Can.Remote && !strings.HasPrefix(w, "/") && w != "~" && !strings.HasPrefix(w, "~/") {
		l.wrong(b.expr("workdir"), "workdir", "%q must be absolute or begin with ~/ on a remote backend.", clip(w))
	}
	return out
}

// noSecret tells a path that reads a sensitive value.
func (l *loader) noSecret(b *block, name string) {
	e := b.expr(name)
	if e == nil {
		return
	}
	for _, t := range e.Variables() {
		if v, ds := t.TraverseAbs(l.static); !ds.HasErrors() && v.ContainsMarked() {
			l.sure.Errorat(t.SourceRange(), "A sensitive value in a path", "%s is sensitive, and a path is shown and stored.", strings.Join(attrNames(t), "."))
		}
	}
}

func (l *loader) knownTypes() string {
	if len(l.o.Schemas) == 0 {
		return "No provider is installed."
	}
	return "Installed: " + strings.Join(sortedKeys(l.o.Schemas), ", ") + "."
}

// price reads price = { usd_per_gpu_hour = 1.10 }.
func (l *loader) price(e hcl.Expression) offer.Price {
	p := offer.Price{Known: true}
	v, ok := l.eval(e)
	if !ok {
		return offer.Price{}
	}
	if v, _ = v.UnmarkDeep(); !isMap(v) {
		l.wrong(e, "price", "An object is needed, { usd_per_gpu_hour = 1.10 }.")
		return offer.Price{}
	}
	rates := map[string]*string{
		"usd_per_gpu_hour": &p.USDPerGPUHour, "usd_per_hour": &p.USDPerHour, "service_units_per_gpu_hour": &p.SUPerGPUHour,
		"service_units_per_node_hour": &p.SUPerNodeHour, "service_units_per_cpu_hour": &p.SUPerCPUHour,
	}
	m := v.AsValueMap()
	for _, name := range sortedKeys(m) {
		l.rate(e, name, m[name], rates, &p)
	}
	return p
}

func (l *loader) rate(e hcl.Expression, name string, v cty.Value, rates map[string]*string, p *offer.Price) {
	var err error
	switch into := rates[name]; {
	case into != nil:
		var text string
		if text, err = asText(v); err == nil {
			var a units.Amount
			if a, err = units.ParseAmount(text); err == nil && a.IsNegative() {
				l.wrong(e, "price", "%s is negative.", name)
			}
			*into = text
		}
	case name == "granularity":
		p.Granularity, err = asDuration(v)
	case name == "bills_while_queued":
		p.BillsWhileQueued = v.Type() == cty.Bool && v.IsKnown() && !v.IsNull() && v.True()
	default:
		known := append(sortedKeys(rates), "granularity", "bills_while_queued")
		l.wrong(e, "price", "There is no rate named %q%s Rates are %s.", clip(name), didYouMean(name, known), strings.Join(known, ", "))
	}
	if err != nil {
		l.wrong(e, "price", "%s: %s", name, sentence(err))
	}
}

// envNames checks names of environment variables.
func (l *loader) envNames(b *block, attr string, env map[string]string) {
	for _, name := range sortedKeys(env) {
		l.envName(b.expr(attr), name)
	}
}

func (l *loader) envName(e hcl.Expression, name string) bool {
	ok := name != "" && (name[0] < '0' || name[0] > '9')
	for i := range len(name) {
		ok = ok && (name[i] == '_' || isAlnum(name[i]))
	}
	if !ok {
		l.wrong(e, "env", "%q cannot name an environment variable: use letters, digits and _, and begin with a letter.", clip(name))
	}
	return ok
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
