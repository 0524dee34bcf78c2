package caps

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// churn adds lines that later ones replace, until the file was compacted. It tells
// whether that happened.
func churn(t *testing.T, c *Caps) bool {
	t.Helper()
	path := c.books[0].journal.path
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		for _, key := range []string{"busy", "busy2"} {
			if why := c.Claim(share(key, "1")); why != "" {
				t.Fatal(why)
			}
		}
		if now, err := os.Stat(path); err == nil && !os.SameFile(first, now) {
			return true
		}
	}
	return false
}

// small lets the files of a test be compacted.
func small(t *testing.T) {
	was := compactFrom
	compactFrom = 2000
	t.Cleanup(func() { compactFrom = was })
}

// TestCompacted: campaigns that have the file open while another one compacts it go on
// with the new one, and see and hold what they did before.
func TestCompacted(t *testing.T) {
	// Requirement: CST-02
	small(t)
	dir := t.TempDir()
	a, b := caps(dir, "a", "10"), caps(dir, "b", "10")
	if why := a.Claim(share("k", "6")); why != "" {
		t.Fatal(why)
	}
	if err := os.Chmod(filepath.Join(dir, Ledger), 0o664); err != nil {
		t.Fatal(err)
	}
	if !churn(t, b) {
		t.Fatal("the file was not compacted")
	}
	info, err := os.Stat(filepath.Join(dir, Ledger))
	if err != nil || info.Mode().Perm() != 0o664 || info.Size() > 2000 {
		t.Errorf("%v, %v", info, err)
	}
	compactFrom = 1 << 20 // else a would put its view of the old file in the new one's place
	if why := a.Claim(share("l", "3")); !strings.Contains(why, "spend $8, and $3 for it pass $10") {
		t.Errorf("a holds 6 and b 2 of 10: %q", why)
	}
	if why := a.Claim(share("l", "2")); why != "" {
		t.Error(why)
	}
	for name, c := range map[string]*Caps{"b": b, "another": caps(dir, "c", "10")} {
		if why := c.Claim(share("m", "0.01")); why == "" {
			t.Errorf("%s: a cent beyond the limit is covered", name)
		}
	}
	if held, err := caps(dir, "a", "10").Held(); err != nil || len(held) != 2 {
		t.Errorf("a holds %v, %v", held, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, Ledger))
	if n := bytes.Count(text, []byte("\n")); err != nil || n > 30 {
		t.Errorf("%d lines, %v", n, err)
	}
}

// TestFolderThatTakesNoFile: a ledger in a folder of somebody else stays as it is.
func TestFolderThatTakesNoFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	small(t)
	dir := t.TempDir()
	a := caps(dir, "a", "10")
	if why := a.Claim(share("k", "6")); why != "" {
		t.Fatal(why)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if churn(t, a) {
		t.Error("the file was replaced")
	}
}

// TestKillsLoseNoSharedMoney: processes that are killed while they claim, and compact at
// every claim, leave a file in which all that they said they hold still counts.
func TestKillsLoseNoSharedMoney(t *testing.T) {
	// Requirement: CST-02
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	said := make([]int, 6)
	for i := range said {
		all.Add(1)
		go func() {
			defer all.Done()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), holder+"="+dir, "MUSTER_TEST_COMPACT=1", fmt.Sprint("MUSTER_TEST_WHO=w", i))
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Error(err)
				return
			}
			time.AfterFunc(time.Duration(100+40*i)*time.Millisecond, func() { _ = cmd.Process.Kill() })
			for {
				var n int
				if _, err := fmt.Fscanln(out, &n); err != nil {
					break
				}
				said[i] = n
			}
			_ = cmd.Wait() // it was killed
		}()
	}
	all.Wait()
	sum := 0
	for i, n := range said {
		sum += n
		held, err := caps(dir, fmt.Sprint("w", i), "1").Held()
		if err != nil || len(held) < n || len(held) > n+1 {
			t.Errorf("w%d holds %d of the %d that it said, %v", i, len(held), n, err)
		}
	}
	if why := caps(dir, "x", fmt.Sprint(sum)).Claim(share("k", "0.01")); sum > 0 && why == "" {
		t.Errorf("$%d are held, and more of as much is covered", sum)
	}
	// What a killed process left beside the file is in nobody's way.
	if err := os.WriteFile(filepath.Join(dir, "."+Ledger+".new"), []byte("{"), 0o400); err != nil {
		t.Fatal(err)
	}
	for _, why := range []string{caps(dir, "x", "1000000").Claim(share("k", "1")), caps(dir, "y", "1000000").Claim(share("k", "1"))} {
		if why != "" {
			t.Error(why)
		}
	}
}
