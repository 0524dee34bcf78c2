package term

import "testing"

func TestFitMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s     string
		width int
		want  string
	}{{"abcdefgh", 8, "abcdefgh"}, {"abcdefgh", 7, "abc…fgh"}, {"abcdefgh", 4, "a…gh"}, {"日本語日本語", 7, "日…本語"}, {"日本語日本語", 8, "日…本語"}, {"abc", 2, "a…"}} {
		got := FitMiddle(c.s, c.width)
		if got != c.want || Width(got) > c.width {
			t.Errorf("%q in %d: %q, want %q", c.s, c.width, got, c.want)
		}
	}
}

// TestTableFits: a row that is wider than the table loses the middle of its longest
// cells, and stays on one line; without a width it is whole.
func TestTableFits(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		0:  "  phase.train[\"seed=1\"]  model  results/deep/folder/model.bin\n",
		40: "  phase.train[\"…\"]  model  resul…del.bin\n",
		10: "  pha…=1\"]  model  res….bin\n",
	} {
		table := Table{Indent: "  ", Width: width}
		table.Row(`phase.train["seed=1"]`, "model", "results/deep/folder/model.bin")
		if got := table.String(); width == 40 && Width(got[:len(got)-1]) != 40 || width != 40 && got != want {
			t.Errorf("in %d columns:\n%swant\n%s", width, got, want)
		}
	}
}
