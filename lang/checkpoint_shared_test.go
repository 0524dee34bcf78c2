package lang

import "testing"

// TestSharedCheckpoints: a checkpoint is its job's own if it is below the workdir and no other
// job's path meets it. Only one that muster checks or removes has to be.
func TestSharedCheckpoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, more string
		shared     bool
	}{
		"of each job":           {path: "ck/${cell.k}"},
		"of all":                {path: "ck", shared: true},
		"outside":               {path: "/scratch/${cell.k}", shared: true},
		"at home":               {path: "~/${cell.k}", shared: true},
		"above":                 {path: "../${cell.k}", shared: true},
		"its own output":        {path: "out/${cell.k}"},
		"beside its own output": {path: "out/${cell.k}.ck"},
		"with another's output": {path: "ck/${cell.k}", more: `phase "b" {
  job {
    command = "b"
    output "o" { path = "ck/1/result" }
  }
}`, shared: true},
		"an output of another": {path: "ck/${cell.k}", more: `phase "b" {
  job {
    command = "b"
    output "o" { path = "ck/2" }
  }
}`, shared: true},
		"in a folder of another": {path: "ck/${cell.k}", more: `phase "b" {
  job {
    command = "b"
    output "o" { dir = "ck" }
  }
}`, shared: true},
		"elsewhere": {path: "ck/${cell.k}", more: `phase "b" {
  job {
    command = "b"
    output "o" { dir = "ckb" }
  }
}`},
	} {
		got := mustLoad(t, `campaign "x" {}
phase "a" {
  grid { axes = { k = [1, 2] } }
  job {
    command = "a"
    output "o" { path = "out/${cell.k}" }
  }
  checkpoint { path = "`+c.path+`" }
}
`+c.more)
		if shared := got.Phases[0].Checkpoint.Shared; shared != c.shared {
			t.Errorf("%s: shared is %v", name, shared)
		}
	}
}
