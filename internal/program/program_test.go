package program

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Programs written while others are being started run at once. With
// os.WriteFile in Write's place some of these are "text file busy".
func TestWrittenWhileOthersStart(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			path := filepath.Join(dir, string(rune('a'+i)))
			for range 100 {
				Write(t, path, "#!/bin/sh\n")
				if out, err := exec.Command(path).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
	all.Wait()
}

func TestCopy(t *testing.T) {
	dir := t.TempDir()
	Write(t, filepath.Join(dir, "a/b"), "#!/bin/sh\necho copied\n")
	Copy(t, filepath.Join(dir, "a/b"), filepath.Join(dir, "c"))
	if out, err := exec.Command(filepath.Join(dir, "c")).Output(); err != nil || string(out) != "copied\n" {
		t.Errorf("%q, %v", out, err)
	}
}
