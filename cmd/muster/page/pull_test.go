package page

import "testing"

func TestPullText(t *testing.T) {
	file, gone := PulledFile{Size: 1536}, Unpulled{Address: "phase.a", Output: "o", Error: "it is gone"}
	lost := Unpulled{Address: "phase.a", Output: "o", Error: "it is lost"}
	for want, p := range map[string]Pull{
		"0 files, 0B, in out: every digest is as recorded.\n":                                                                                 PullTo("out"),
		"1 file, 1536B, in out: every digest is as recorded; 1 output was not copied.\n":                                                      {To: "out", Files: []PulledFile{file}, Failed: []Unpulled{gone}},
		"2 files, 3KiB, in out: every digest is as recorded; 2 outputs were not copied.\n":                                                    {To: "out", Files: []PulledFile{file, file}, Failed: []Unpulled{gone, lost}},
		"1 file, 1536B, in out: every digest is as recorded; the backend bills $0.18 for this transfer, which the ledger does not include.\n": {To: "out", Files: []PulledFile{{Size: 1536, USD: "0.18"}}},
	} {
		if got := p.Text(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
		l := p.Diagnostics()
		if len(l) != len(p.Failed) || l.HasErrors() != (len(p.Failed) > 0) {
			t.Errorf("%d failed, and these are told: %v", len(p.Failed), l)
		}
		for i, d := range l {
			if d.Detail != `phase.a, output "o": `+p.Failed[i].Error+"." {
				t.Errorf("%q", d.Detail)
			}
		}
	}
}

// TestPullSaysAReasonOnce: a host that is gone has many outputs.
func TestPullSaysAReasonOnce(t *testing.T) {
	t.Parallel()
	p := Pull{Failed: []Unpulled{
		{Address: "phase.a[0]", Output: "o", Error: "h2 is no longer in hosts"},
		{Address: "phase.a[1]", Output: "o", Error: "its digest differs"},
		{Address: "phase.a[2]", Output: "o", Error: "h2 is no longer in hosts"},
	}}
	l := p.Diagnostics()
	if len(l) != 2 || l[0].Detail != `phase.a[0], output "o", and 1 more: h2 is no longer in hosts.` || l[1].Detail != `phase.a[1], output "o": its digest differs.` {
		t.Errorf("%v", l)
	}
}
