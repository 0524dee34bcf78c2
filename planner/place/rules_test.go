package place

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// rules loads the rules of a policy from its source.
func rules(t *testing.T, src string) lang.Policy {
	t.Helper()
	src = "campaign \"test\" {}\nbackend \"ssh\" \"lab\" {}\nbackend \"slurm\" \"alpine\" {}\npolicy {\n" + src + "\n}\nphase \"p\" {\n  job { command = \"true\" }\n}\n"
	c, diags := lang.LoadFiles(map[string][]byte{"test.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(),
		Schemas: map[string]offer.Schema{"local": {Type: "local"}, "ssh": {Type: "ssh"}, "slurm": {Type: "slurm"}}})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, src)
	}
	return c.Policy
}

func TestPolicyRules(t *testing.T) {
	// Requirement: DT-01, DT-10
	t.Parallel()
	all := []string{"vastai.cloud", "slurm.alpine", "ssh.lab"}
	const short = "rule {\n when = shape.gpus > 0 && shape.walltime <= duration(\"1h\")\n use = \"order\"\n}\n"
	for _, c := range []struct {
		name, src string
		g         Group
		want, why string
	}{
		{"the rule of the reference holds", short, Group{Shape: a100(time.Hour), Candidates: all}, "vastai.cloud 7", "rule 1 of policy"},
		{"it does not hold: the default table", short, Group{Shape: a100(2 * time.Hour), Candidates: all}, "ssh.lab", "GPU work goes to the production pool"},
		{"the first that holds", short + "rule {\n when = true\n use = \"slurm.alpine\"\n}\n", Group{Shape: a100(2 * time.Hour), Candidates: all}, "slurm.alpine aa100", "rule 2 of policy"},
		{"a preference of the phase comes before rules", short, Group{Shape: a100(time.Hour), Candidates: all, Prefer: "cheapest"}, "ssh.lab", "place prefers cheapest"},
		{"production before rentals", "rule {\n when = true\n use = \"production\"\n}\n", Group{Shape: a100(time.Hour), Candidates: []string{"vastai.cloud", "slurm.alpine"}}, "slurm.alpine aa100", "rule 1 of policy"},
		{"a rule by jobs", "rule {\n when = jobs >= 10\n use = \"slurm.alpine\"\n}\n", Group{Shape: a100(9 * time.Hour), Jobs: 10, Candidates: all}, "slurm.alpine aa100", "rule 1 of policy"},
		{"short CPU work where this machine is no candidate", "", Group{Shape: offer.Shape{CPUs: 1, Walltime: 10 * time.Minute}, Candidates: []string{"ssh.lab"}}, "ssh.lab", "CPU work goes to the cheapest place that starts soonest"},
		{"a rule names what cannot take it", "rule {\n when = true\n use = \"slurm.alpine\"\n}\n", Group{Shape: gpus(8, 9*time.Hour), Candidates: all}, "ssh.lab", "rule 1 of policy names slurm.alpine, which cannot take it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, said := decide(t, c.g, policy(rules(t, c.src)))
			if goes(d) != c.want || d.Why != c.why {
				t.Errorf("goes to %q (%s), not %q; %s", goes(d), d.Why, c.want, said)
			}
		})
	}
}
