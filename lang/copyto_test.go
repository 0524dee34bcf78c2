package lang

import (
	"strings"
	"testing"
)

// TestCopyTo: an address that copies cannot go to, and credentials that the job lacks, are errors.
func TestCopyTo(t *testing.T) {
	t.Parallel()
	key, host := `secret "MUSTER_COPY_KEY" { file = "~/.ssh/k" }`, `env = { MUSTER_COPY_HOST_KEY = "ssh-ed25519 AAAA" }`
	for name, c := range map[string]struct{ to, job, want string }{
		"ssh":                         {"ssh://ada@backup/ck", key + "\n" + host, ""},
		"ssh, host key as a secret":   {"ssh://ada@backup/ck", key + "\nsecret \"MUSTER_COPY_HOST_KEY\" { env = \"K\" }", ""},
		"ssh without a key":           {"ssh://ada@backup/ck", host, `secret "MUSTER_COPY_KEY" { file = "~/.ssh/KEY" }`},
		"ssh, the key in env":         {"ssh://ada@backup/ck", `env = { MUSTER_COPY_KEY = "k", MUSTER_COPY_HOST_KEY = "h" }`, "Copies need a key"},
		"ssh without the host's key":  {"ssh://ada@backup/ck", key, "ssh-keyscan -t ed25519 backup"},
		"a bucket":                    {"s3://bucket/ck", "secret \"AWS_SECRET_ACCESS_KEY\" { env = \"S\" }\nenv = { AWS_ACCESS_KEY_ID = \"AKIA\" }", ""},
		"a bucket without a key":      {"s3://bucket/ck", "", `secret "AWS_SECRET_ACCESS_KEY" { env = "AWS_SECRET_ACCESS_KEY" }`},
		"a bucket without the key id": {"s3://bucket/ck", `secret "AWS_SECRET_ACCESS_KEY" { env = "S" }`, "The job has no AWS_ACCESS_KEY_ID"},
		"a path":                      {"/backup", "", "muster copies to ssh://USER@HOST/FOLDER and s3://BUCKET/PREFIX"},
		"a password":                  {"ssh://ada:hunter2@backup/ck", "", "it has a password in it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ds := load(t, "campaign \"c\" {}\nbackend \"local\" \"here\" {}\nphase \"a\" {\n job {\n command = \"true\"\n"+c.job+"\n}\n checkpoint {\n path = \"ck\"\n copy_to = \""+c.to+"\"\n }\n}\n")
			said := ""
			for _, d := range ds {
				said += d.Summary + " " + d.Detail + "\n"
			}
			if c.want == "" && said != "" || !strings.Contains(said, c.want) || strings.Contains(said, "hunter2") {
				t.Errorf("%q, want %q", said, c.want)
			}
		})
	}
}
