package slurm

import (
	"encoding/json"
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// TestTerms: an option of the job comes before the backend's, and a further
// argument before both.
func TestTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config, options string
		qos, mail       string
	}{
		{`{}`, ``, "", ""},
		{`{"qos": "normal"}`, `{"mail": "ada@example.edu"}`, "normal", "ada@example.edu"},
		{`{"qos": "normal"}`, `{"qos": "long", "mail": "ada@example.edu", "extra": ["--mail-user=bob@example.edu"]}`, "long", "bob@example.edu"},
		{`{}`, `{"extra": ["--exclusive", "--mail-user", "bob@example.edu"]}`, "", "bob@example.edu"},
	} {
		want := offer.Terms{QoS: c.qos, Mail: c.mail, Pool: "partition", Submit: "sbatch"}
		if got := (Type{}).Terms(json.RawMessage(c.config), json.RawMessage(c.options)); got != want {
			t.Errorf("%s %s: %+v, want %+v", c.config, c.options, got, want)
		}
	}
}
