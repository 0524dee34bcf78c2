package caps

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/ledger"
)

func usd(text string) ledger.Amounts { return ledger.Parse(map[string]string{"usd": text}) }

func caps(dir, lineage, limit string, appliesTo ...string) *Caps {
	b := lang.Budget{Name: "lab", Limits: map[string]string{"usd": limit}, AppliesTo: appliesTo, Shared: &lang.Shared{File: filepath.Join(dir, lang.SharedBudgets)}}
	return New(Campaign{Owner: lang.Owner{Lineage: lineage, Dir: "/" + lineage}, Name: lineage}, []lang.Budget{b})
}

func share(key, held string) []ledger.Share {
	return []ledger.Share{{Key: key, Backend: "slurm.x", Held: usd(held)}}
}

// claimer, in a process of its own, claims until nothing more is covered.
const claimer = "MUSTER_TEST_CLAIMER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holder); dir != "" {
		hold(dir)
	}
	if dir := os.Getenv(claimer); dir != "" {
		c, n := caps(dir, os.Getenv("MUSTER_TEST_WHO"), "100"), 0
		for c.Claim(share(fmt.Sprint("k", n), "1")) == "" {
			n++
		}
		fmt.Println(n)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// holder, in a process of its own, claims and says how often, until it is killed.
const holder = "MUSTER_TEST_HOLDER"

func hold(dir string) {
	c := caps(dir, os.Getenv("MUSTER_TEST_WHO"), "1000000")
	for n := 1; ; n++ {
		for range 8 {
			if why := c.Claim(share(fmt.Sprint("k", n), "1")); why != "" {
				fmt.Fprintln(os.Stderr, why)
				os.Exit(1)
			}
		}
		fmt.Println(n)
	}
}

// TestProcessesTogetherPassNoLimit: eight that claim as fast as they can get what the
// limit allows, and not one more.
// Requirement: CST-02
func TestProcessesTogetherPassNoLimit(t *testing.T) {
	t.Parallel()
	dir, sum := t.TempDir(), 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), claimer+"="+dir, fmt.Sprint("MUSTER_TEST_WHO=w", i))
			out, err := cmd.Output()
			n := 0
			if _, scan := fmt.Sscan(string(out), &n); err != nil || scan != nil {
				t.Errorf("%q: %v %v", out, err, scan)
			}
			mu.Lock()
			defer mu.Unlock()
			sum += n
		}()
	}
	all.Wait()
	if sum != 100 {
		t.Errorf("%d of 100 were claimed", sum)
	}
}

// TestWhatStaysClaimed: what a killed or deleted campaign holds counts; its next run
// gives back what it never launched, and what ended counts as it was billed.
func TestWhatStaysClaimed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := caps(dir, "a", "10"), caps(dir, "b", "10")
	if why := a.Claim(share("k", "8")); why != "" {
		t.Fatal(why)
	}
	if why := b.Claim(share("k", "3")); !strings.Contains(why, "spent or may still spend $8, and $3 for it pass $10") {
		t.Errorf("a limit of $10 covers $8 and $3: %q", why)
	}
	var books ledger.Books // the next run of a, whose state has nothing of it
	books.Join(caps(dir, "a", "10"))
	if err := books.Settle(); err != nil {
		t.Fatal(err)
	}
	if why := b.Claim(share("k", "3")); why != "" {
		t.Errorf("what was given back is held: %s", why)
	}
	if err := b.Tell([]ledger.Share{{Key: "k", Backend: "slurm.x", Spent: usd("1")}}); err != nil {
		t.Fatal(err)
	}
	if why := a.Claim(share("k", "9")); why != "" {
		t.Errorf("$1 of $10 is spent: %s", why)
	}
	if why := b.Claim(share("l", "0.01")); why == "" {
		t.Error("a cent beyond the limit is covered")
	}
	if why := a.Claim(share("k", "9")); why != "" {
		t.Errorf("what it holds is counted twice: %s", why)
	}
}

// TestLineThatWasCutOff: a process that was killed while it wrote takes nothing with it.
func TestLineThatWasCutOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := caps(dir, "a", "10")
	if why := a.Claim(share("k", "6")); why != "" {
		t.Fatal(why)
	}
	path := filepath.Join(dir, Ledger)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, text[:20]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if why := a.Claim(share("l", "3")); why != "" {
		t.Fatal(why)
	}
	if why := caps(dir, "b", "10").Claim(share("k", "2")); why == "" {
		t.Error("$9 of $10 are held, and $2 more are covered")
	}
	if why := caps(dir, "b", "10").Claim(share("k", "1")); why != "" {
		t.Errorf("$9 of $10 are held: %s", why)
	}
}

// TestTwoFiles: what one of two limits does not cover is held in neither, and a limit of
// other backends counts nothing.
func TestTwoFiles(t *testing.T) {
	t.Parallel()
	wide, tight, other := caps(t.TempDir(), "a", "10"), caps(t.TempDir(), "a", "5"), caps(t.TempDir(), "a", "0", "backend.runpod")
	both := &Caps{who: wide.who, books: []*book{wide.books[0], tight.books[0], other.books[0]}}
	if why := both.Claim(share("k", "6")); !strings.Contains(why, "pass $5") {
		t.Errorf("%q", why)
	}
	if why := wide.Claim(share("l", "10")); why != "" {
		t.Errorf("what was refused is held: %s", why)
	}
	if why := caps(t.TempDir(), "a", "0", "backend.slurm").Claim(share("k", "1")); why == "" {
		t.Error("a backend of the type that a limit names does not count")
	}
}

// TestNoPlaceForRecords: where nothing can be recorded, nothing is covered.
func TestNoPlaceForRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("/dev/null", filepath.Join(dir, Ledger)); err != nil {
		t.Fatal(err)
	}
	if why := caps(dir, "a", "10").Claim(share("k", "1")); why == "" {
		t.Error("covered without a record")
	}
}
