package page

import "testing"

func TestPullText(t *testing.T) {
	file, gone := PulledFile{Size: 1536}, Unpulled{Address: "phase.a", Output: "o", Error: "it is gone"}
	for want, p := range map[string]Pull{
		"0 files, 0B, in out: every digest is as recorded.\n":                                                                                  PullTo("out"),
		"1 file, 1536B, in out: every digest is as recorded; 1 output was not copied.\n":                                                       {To: "out", Files: []PulledFile{file}, Failed: []Unpulled{gone}},
		"2 files, 3KiB, in out: every digest is as recorded; 2 outputs were not copied.\n":                                                     {To: "out", Files: []PulledFile{file, file}, Failed: []Unpulled{gone, gone}},
		"1 file, 1536B, in out: every digest is as recorded; what was copied now is billed $0.18 where it left, which is not in the ledger.\n": {To: "out", Files: []PulledFile{{Size: 1536, USD: "0.18"}}},
	} {
		if got := p.Text(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
		l := p.Diagnostics()
		if len(l) != len(p.Failed) || l.HasErrors() != (len(p.Failed) > 0) {
			t.Errorf("%d failed, and these are told: %v", len(p.Failed), l)
		}
		for _, d := range l {
			if d.Detail != `phase.a, output "o": it is gone.` {
				t.Errorf("%q", d.Detail)
			}
		}
	}
}
