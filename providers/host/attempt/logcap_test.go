package attempt

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper"
)

// TestLogsAreCapped: a log keeps its head and its last lines, whole ones, with a line about the
// gap between them, also while its job writes to it.
func TestLogsAreCapped(t *testing.T) {
	was := logs
	logs = logCap{most: 1 << 20, head: 64 << 10}
	t.Cleanup(func() { logs = was })
	j := &providers.Job{Token: "0123456789", Workdir: t.TempDir()}
	path := LogPath(j.Workdir, j.Token, 1, false)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := 0
	write := func(size int) {
		var b bytes.Buffer
		for b.Len() < size {
			line++
			fmt.Fprintf(&b, "line %d\n", line)
		}
		if _, err := f.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	read := func(r providers.LogRequest) []string {
		t.Helper()
		var b strings.Builder
		if err := WriteLog(context.Background(), path, r, &b, wrapper.Mask{}, time.Millisecond, false, nil); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	}
	whole := func(when string) {
		t.Helper()
		left := 0
		for _, l := range read(providers.LogRequest{}) {
			var n int
			if strings.Contains(l, "of this log are left out here") {
				left++
			} else if k, err := fmt.Sscanf(l, "line %d", &n); k != 1 || err != nil || l != fmt.Sprintf("line %d", n) {
				t.Fatalf("%s: %q", when, l)
			}
		}
		if last := read(providers.LogRequest{Lines: 2}); left != 1 || last[1] != fmt.Sprintf("line %d", line) || last[0] != fmt.Sprintf("line %d", line-1) {
			t.Errorf("%s: %d gaps, and it ends with %q", when, left, last)
		}
	}

	write(1 << 19)
	CapLogs(j, 1)
	if err := Tidy(j, 1, true); err != nil {
		t.Fatal(err)
	}
	if n := len(read(providers.LogRequest{})); n != line {
		t.Errorf("a small log: %d of %d lines are there", n, line)
	}
	for range 3 {
		write(3 << 20)
		CapLogs(j, 1)
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		if used := st.Blocks * 512; used > logs.most+64<<10 {
			t.Skipf("this file system frees nothing within a file: %d bytes", used)
		}
		whole("while the job runs")
	}
	write(3 << 20)
	if err := Tidy(j, 1, false); err != nil {
		t.Fatal(err)
	}
	whole("after its end")
	if fi, err := os.Stat(path); err != nil || fi.Size() > logs.most+1<<10 || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".muster-log-*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}
