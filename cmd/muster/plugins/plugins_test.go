package plugins

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Built-in providers are there without a file, and their schemas are read
// without a process.
func TestBuiltinProviders(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	set := Set{Dir: t.TempDir(), Logger: hclog.NewNullLogger}
	list, err := set.List("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
		if p.Kind != "built-in" || p.Version != "1.2.3" {
			t.Errorf("%+v", p)
		}
	}
	schemas, absent := set.Schemas()
	if want := []string{"lambda", "local", "paperspace", "pbs", "runpod", "sim", "slurm", "ssh", "vastai"}; !slices.Equal(names, want) || !slices.Equal(served(), want) || len(schemas) != len(want) || len(absent) != 0 {
		t.Errorf("%v, %v, %d schemas, %v", names, served(), len(schemas), absent)
	}
}

// A version that a campaign does not want is told where it says so.
func TestUnsuitable(t *testing.T) {
	c := &lang.Campaign{RequiredProviders: map[string]lang.RequiredProvider{"local": {Version: ">= 1.2"}, "mine": {Version: "~> 2.0"}, "away": {Version: ">= 9"}}}
	schemas := map[string]offer.Schema{"mine": {Type: "mine", Version: "2.4.1"}}
	if diags := Unsuitable(c, schemas, "1.3.0-dev"); len(diags) != 0 {
		t.Errorf("all fit, or are not used: %v", diags)
	}
	schemas["mine"] = offer.Schema{Type: "mine", Version: "3.0.0"}
	diags := Unsuitable(c, schemas, "1.1.0")
	if len(diags) != 2 || diags[0].Summary != `Provider "local" has the wrong version` || !strings.Contains(diags[1].Detail, "requires ~> 2.0; found is 3.0.0") {
		t.Errorf("%v", diags)
	}
}

// The reason why a provider cannot be used replaces the message that its type is unknown; a
// provider that does not exist stays unknown, with the places where muster looked for it.
func TestExplainAbsent(t *testing.T) {
	unknown := func(typ string) diag.Diagnostic {
		return diag.Diagnostic{Summary: unknownType, Detail: `There is no backend of type "` + typ + `".`}
	}
	got := ExplainAbsent(diag.List{unknown("a"), unknown("b")}, map[string]error{
		"a": &providers.Error{Class: providers.NotFound, Detail: "Looked in PATH."},
		"b": errors.New("start b: exit status 2"),
		"c": errors.New("start c: exit status 3"),
	})
	want := []string{unknownType, "Start b: exit status 2", "Start c: exit status 3"}
	if len(got) != 3 {
		t.Fatalf("%v", got)
	}
	for i, d := range got {
		if d.Summary != want[i] {
			t.Errorf("%q, want %q", d.Summary, want[i])
		}
	}
	if !strings.HasSuffix(got[0].Detail, "\n\nLooked in PATH.") {
		t.Errorf("%q", got[0].Detail)
	}
}
