package attempt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

// TestForbiddenLines holds what counts as a line, in pieces as a program writes
// them: one look after each.
func TestForbiddenLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longestLine-2)
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"a word in a longer one":        {[]string{"took 3 nanoseconds\nbanana\n"}, ""},
		"a word of its own":             {[]string{"step 1\nloss = nan\nstep 2\n"}, "loss = nan"},
		"any case":                      {[]string{"Loss: NaN\n"}, "Loss: NaN"},
		"coloured":                      {[]string{"\x1b[31mnan\x1b[0m\n"}, "nan"},
		"a progress bar":                {[]string{"10%\r20% loss nan\r30%\r"}, "20% loss nan"},
		"cut in two within the word":    {[]string{"loss n", "an\n"}, "loss nan"},
		"the half of a longer word":     {[]string{"took 3 nan", "oseconds\n"}, ""},
		"without an end of line":        {[]string{"FATAL"}, "FATAL"},
		"CRLF":                          {[]string{"FATAL\r\n"}, "FATAL"},
		"not text":                      {[]string{"\xff\xfe nan \x00\n"}, "� nan \x00"},
		"in a line of more than 64 KiB": {[]string{long + " nan " + long + "\n"}, "nan"},
		"across the cut of a long line": {[]string{long + "FATAL" + long + "\n"}, "FATAL"},
		"nothing":                       {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, log := watchedJob(t)
			now := time.Now()
			w := NewWatcher(j, 1, now)
			got := ""
			for _, piece := range append(c.pieces, "", "") { // and two looks at nothing new
				log(piece)
				now = now.Add(LookEvery)
				if line := w.Look(now); got == "" {
					got = line
				}
			}
			for who, got := range map[string]string{"while it runs": got, "when it has ended": Forbidden(j, 1)} {
				if c.want == "" && got != "" || !strings.Contains(got, c.want) || c.want != "" && got == "" {
					t.Errorf("%s: %q, want %q", who, got, c.want)
				}
			}
		})
	}
}

// TestStalled: output and a checkpoint that moves each begin the silence again.
func TestStalled(t *testing.T) {
	t.Parallel()
	j, log := watchedJob(t)
	j.Watch = providers.Watch{StalledAfter: time.Minute}
	j.Checkpoint.Path = "ck"
	now := time.Now()
	w := NewWatcher(j, 1, now)
	after := func(d time.Duration) string {
		now = now.Add(d)
		w.Look(now)
		return w.Stalled(now, func() []int { return []int{os.Getpid()} }, func(time.Duration) ([]int, bool) { return nil, false })
	}
	if got := after(59 * time.Second); got != "" {
		t.Errorf("too early: %q", got)
	}
	if got := after(time.Second); !strings.HasPrefix(got, "stalled: no output and no checkpoint for 1m; its processes kept ") {
		t.Errorf("%q", got)
	}
	log(".")
	if got := after(time.Second); got != "" {
		t.Errorf("it printed: %q", got)
	}
	after(50 * time.Second)
	if err := os.WriteFile(filepath.Join(j.Workdir, "ck"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := after(50 * time.Second); got != "" {
		t.Errorf("its checkpoint moved: %q", got)
	}
	if got := after(time.Minute); got == "" {
		t.Error("nothing said")
	}
}

// TestReady: a job whose first sign does not come in time is stalled, however much else it
// prints, and is not once the sign came, however long it is silent then.
func TestReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, late string // what it prints in time, and after that
		first, then  string
	}{
		"in time":             {before: "loading\nepoch 1\n"},
		"coloured, unended":   {before: "\x1b[32mepoch\x1b[0m 1"},
		"late":                {before: "loading\n", late: "epoch 1\n", first: `stalled: no line matches "^epoch \\d" within 1m`},
		"never":               {before: "no epoch 1\n", late: "loading\n", first: `stalled: no line matches "^epoch \\d" within 1m`, then: `stalled: no line matches "^epoch \\d" within 1m`},
		"in time, long after": {before: "epoch 1\n", late: "x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, log := watchedJob(t)
			j.Watch = providers.Watch{Ready: `^epoch \d`, ReadyWithin: time.Minute}
			now := time.Now()
			w := NewWatcher(j, 1, now)
			after := func(d time.Duration) string {
				now = now.Add(d)
				if line := w.Look(now); line != "" {
					t.Errorf("forbidden: %q", line)
				}
				return w.Stalled(now, func() []int { return nil }, func(time.Duration) ([]int, bool) { return nil, false })
			}
			log(c.before)
			after(time.Second)
			if got := after(58 * time.Second); got != "" {
				t.Errorf("too early: %q", got)
			}
			if got := after(time.Second); got != c.first {
				t.Errorf("%q, want %q", got, c.first)
			}
			log(c.late)
			if got := after(time.Hour); got != c.then {
				t.Errorf("later %q, want %q", got, c.then)
			}
		})
	}
}

// TestStalledGPUs: the text names the GPUs where their use within the silence is known.
func TestStalledGPUs(t *testing.T) {
	t.Parallel()
	for want, percent := range map[string][]int{
		"stalled: no output for 1m":                    nil,
		"stalled: no output for 1m; GPU 0 % busy":      {0},
		"stalled: no output for 1m; GPUs 98 % busy":    {98, 98},
		"stalled: no output for 1m; GPUs 0–100 % busy": {100, 0, 100},
	} {
		j, _ := watchedJob(t)
		j.Watch = providers.Watch{StalledAfter: time.Minute}
		now := time.Now()
		w := NewWatcher(j, 1, now)
		var asked time.Duration
		got := w.Stalled(now.Add(time.Minute), func() []int { return nil }, func(within time.Duration) ([]int, bool) {
			asked = within
			return percent, false
		})
		if got != want || asked != time.Minute {
			t.Errorf("%v within %s: %q, want %q", percent, asked, got, want)
		}
	}
}

// TestStalledAwaitsGPUs: the report waits for a reading that is under way, for gpuWait at most,
// and not once the job was reported.
func TestStalledAwaitsGPUs(t *testing.T) {
	t.Parallel()
	j, log := watchedJob(t)
	j.Watch = providers.Watch{StalledAfter: 4 * time.Second}
	began := time.Now()
	w := NewWatcher(j, 1, began)
	look := func(after time.Duration, percent []int, soon bool) string {
		w.Look(began.Add(after))
		return w.Stalled(began.Add(after), func() []int { return nil }, func(time.Duration) ([]int, bool) { return percent, soon })
	}
	if got := look(9*time.Second, nil, true); got != "" {
		t.Errorf("during the reading: %q", got)
	}
	if got, want := look(10*time.Second, []int{3}, false), "stalled: no output for 10s; GPU 3 % busy"; got != want {
		t.Errorf("after the reading: %q, want %q", got, want)
	}
	if got, want := look(11*time.Second, nil, true), "stalled: no output for 11s"; got != want {
		t.Errorf("during the next reading: %q, want %q", got, want)
	}
	log("step 2\n")
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{20 * time.Second, ""}, {33 * time.Second, ""}, {34 * time.Second, "stalled: no output for 14s"}} {
		if got := look(c.after, nil, true); got != c.want {
			t.Errorf("a reading that hangs, after %s: %q, want %q", c.after, got, c.want)
		}
	}
}

// watchedJob is a job with a log that the function writes to.
func watchedJob(t *testing.T) (*providers.Job, func(string)) {
	j := &providers.Job{Token: "ab12", Workdir: t.TempDir(), Watch: providers.Watch{Forbid: []string{`(?i)\bnan\b`, "FATAL"}}}
	path := LogPath(j.Workdir, j.Token, 1, false)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	return j, func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
}
