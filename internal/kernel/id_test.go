package kernel

import (
	"os"
	"os/exec"
	"testing"
)

func TestIDAlive(t *testing.T) {
	t.Parallel()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	self := Identify(os.Getpid())
	for name, tt := range map[string]struct {
		id   ID
		want bool
	}{
		"this process":                {self, true},
		"a pid that was given again":  {ID{PID: self.PID, Start: self.Start + 1}, false},
		"a start that is not known":   {ID{PID: self.PID}, true},
		"a process that has ended":    {ID{PID: dead.Process.Pid, Start: 5}, false},
		"nothing":                     {ID{}, false},
		"everything (a negative pid)": {ID{PID: -1}, false},
	} {
		if got := tt.id.Alive(); got != tt.want {
			t.Errorf("%s: alive is %v", name, got)
		}
	}
	if got, ok := ParseID(self.String()); !ok || got != self {
		t.Errorf("%s came back as %v", self, got)
	}
	for _, bad := range []string{"", "1", "-", "0-1", "x-1", "1-x", "-1-1"} {
		if id, ok := ParseID(bad); ok {
			t.Errorf("%q was read as %v", bad, id)
		}
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	t.Parallel()
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	id := Identify(c.Process.Pid)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for id.Alive() { // not waited for: it is a zombie when this ends
	}
	_ = c.Wait()
}
