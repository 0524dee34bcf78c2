package lang

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/lang/expr"
)

// TestMuchWork reads campaigns whose every expression is within its bounds, but
// whose cells together would take minutes or hours.
func TestMuchWork(t *testing.T) {
	t.Parallel()
	const phase = "phase \"p\" {\n grid {\n axes = { i = range(1000), j = range(1000) }\n WHERE\n }\n job { command = \"COMMAND\" }\n}\n"
	with := func(where, command string) string {
		return "locals {\n big = range(100000)\n text = join(\"\", [for x in range(30000): \"0123456789abcdef\"])\n}\n" + strings.NewReplacer("WHERE", where, "COMMAND", command).Replace(phase)
	}
	for name, src := range map[string]string{
		"loops":          with("", "${length([for x in range(200000): x * cell.i * cell.j])}"),
		"nested loops":   with("", "${length([for x in range(400): length([for y in range(400): x + y + cell.i * cell.j])])}"),
		"where":          with("where = length([for x in range(50000): cell.i * x + cell.j]) > 0", ""),
		"functions":      with("", "${length(reverse(concat(local.big, [cell.i, cell.j])))}"),
		"texts":          with("", "${sha256(\\\"${local.text}${cell.i * cell.j}\\\")}"),
		"splat":          with("", "${length([for x in local.big: {a = x}][*].a) + cell.i * cell.j}"),
		"caught":         with("", "${try(length(sort(concat(local.big, [cell.i * cell.j]))), 0)}"),
		"long":           with("", "${cell.i * cell.j"+strings.Repeat(" + cell.i", 900)+"}"),
		"params":         strings.Replace(with("", "${param.a}"), "job {", "params = { a = length([for x in local.big: x * cell.i * cell.j]) }\n job {", 1),
		"many templates": with("", strings.Repeat("%{ for x in local.big }${x * cell.i * cell.j}%{ endfor }", 3)),
	} {
		t.Run(name, func(t *testing.T) {
			src := strings.ReplaceAll(src, `\"`, `"`)
			l := newLoader(LoadOptions{Dir: "/tmp", Schemas: schemas})
			l.Meter.Most = 5_000_000 // as if there were a hundred times as many cells
			l.Add("a.muster.hcl", []byte("campaign \"c\" { max_cells = 2000000 }\n"+src))
			_, ds := l.load()
			if len(ds) != 1 || ds[0].Summary != expr.TooMuchWork {
				t.Errorf("%.500s", ds.Err())
			}
		})
	}
}
