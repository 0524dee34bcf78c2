package precedent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func line() Record {
	return Record{Version: version, Campaign: "y", Phase: "x", At: now.AddDate(0, 0, -22), Kind: strings.Repeat("ab", 32), Backend: "slurm.alpine", GPUs: 4,
		Jobs: 40, Done: 38, Failed: map[string]int{"oom_gpu": 2}, P50: 7200, P90: 9000, Spent: map[string]string{"gpu_hours": "320.12345", "node_hours": "80"}}
}

func TestText(t *testing.T) {
	l := line()
	want := `phase.x of campaign "y" (2026-11-03, slurm.alpine, 4 GPUs): 38 of 40 jobs done, 2 failures (oom_gpu 2), median 2h, nine in ten within 2h 30m, 320.1 GPU-hours`
	if got := l.Text(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	l.Campaign = "a\x1b[31m\nb"
	if got := l.Text(); strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("%q", got)
	}
}

func TestReadBack(t *testing.T) {
	text, err := line().Encode()
	if err != nil {
		t.Fatal(err)
	}
	lines, problems, err := Read(strings.NewReader("\n"+string(text)+"\r\n"+string(text)), now)
	if err != nil || len(problems) > 0 || len(lines) != 2 || !lines[0].same(line()) {
		t.Fatal(lines, problems, err)
	}
	if more := New([]Record{line()}, lines); len(more) > 0 {
		t.Errorf("it is there: %v", more)
	}
	other := line()
	other.Done++
	if more := New([]Record{other}, lines); len(more) != 1 {
		t.Errorf("it is not there: %v", more)
	}
}

// TestUnsound: each line that says what no muster writes is ignored, with its number.
func TestUnsound(t *testing.T) {
	// Requirement: SM-17
	for name, edit := range map[string]func(map[string]any){
		"another format": func(m map[string]any) { m["precedent"] = 2 },
		"no campaign":    func(m map[string]any) { delete(m, "campaign") },
		"a long name":    func(m map[string]any) { m["phase"] = strings.Repeat("x", 201) },
		"a long line":    func(m map[string]any) { m["more"] = strings.Repeat("x", maxLine) },
		"no digest":      func(m map[string]any) { m["kind"] = "../../etc/passwd" },
		"tomorrow":       func(m map[string]any) { m["at"] = now.AddDate(0, 0, 2) },
		"no time":        func(m map[string]any) { delete(m, "at") },
		"more done":      func(m map[string]any) { m["done"] = 41 },
		"less than none": func(m map[string]any) { m["jobs"], m["done"] = -1, -1 },
		"too many":       func(m map[string]any) { m["jobs"] = maxCount + 1 },
		"a fraction":     func(m map[string]any) { m["jobs"] = 1.5 },
		"a long time":    func(m map[string]any) { m["p90"] = 1e18 },
		"a class":        func(m map[string]any) { m["failed"] = map[string]int{"\x1b[31m": 1} },
		"a count":        func(m map[string]any) { m["failed"] = map[string]int{"oom": -1} },
		"an exponent":    func(m map[string]any) { m["spent"] = map[string]string{"usd": "1e999999999"} },
		"a unit":         func(m map[string]any) { m["spent"] = map[string]string{"U S D": "1"} },
	} {
		var m map[string]any
		text, _ := line().Encode()
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		edit(m)
		bad, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		lines, problems, err := Read(strings.NewReader(string(text)+string(bad)+"\n"), now)
		if err != nil || len(lines) != 1 || len(problems) != 1 || problems[0].Line != 2 || problems[0].Why == "" {
			t.Errorf("%s: %d lines, %v, %v", name, len(lines), problems, err)
		}
	}
	if _, _, err := Read(strings.NewReader(strings.Repeat("\n", MaxFile+1)), now); err == nil {
		t.Error("a file without end is read")
	}
}

func TestOf(t *testing.T) {
	w := Work{Campaign: "mine", Phase: "x", Kind: line().Kind, Source: "s", Backend: "slurm.alpine", GPUs: 4}
	with := func(campaign string, edit func(*Record)) Record {
		l := line()
		l.Campaign = campaign
		edit(&l)
		return l
	}
	lines := []Record{
		with("mine", func(l *Record) { l.Source = "s" }),
		with("another kind", func(l *Record) { l.Kind = strings.Repeat("cd", 32) }),
		with("none done", func(l *Record) { l.Done, l.Source = 0, "s" }),
	}
	if got := Of(lines, w); got != nil {
		t.Errorf("%+v", got)
	}
	for _, l := range []Record{ // each better than the one before
		with("another code", func(l *Record) { l.At = now }),
		with("another place", func(l *Record) { l.Source, l.Backend, l.GPUs = "s", "local.local", 0 }),
		with("as many GPUs", func(l *Record) { l.Source, l.Backend = "s", "ssh.lab" }),
		with("the same place", func(l *Record) { l.Source, l.GPUs = "s", 1 }),
		with("the same", func(l *Record) { l.Source, l.At = "s", now.AddDate(0, -2, 0) }),
		with("a newer one", func(l *Record) { l.Source = "s" }),
	} {
		lines = append([]Record{l}, lines...)
		if got := Of(lines, w); got == nil || got.Campaign != l.Campaign {
			t.Errorf("%+v, not that of %s", got, l.Campaign)
		}
	}
}
