package caps

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// TestKillsLoseNoSharedMoney: processes that are killed while they claim
// leave a file in which all that they said they hold still counts.
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
			cmd.Env = append(os.Environ(), holder+"="+dir, fmt.Sprint("MUSTER_TEST_WHO=w", i))
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
}
