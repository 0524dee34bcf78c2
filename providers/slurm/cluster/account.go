package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
)

// Limits are slurmdbd's to tell, which may be away while slurmctld goes on to apply
// them. So what was told last is kept in a file, for each cluster and user, and
// stands in until slurmdbd answers again. That file is a cache: without it limits
// are unknown then.

// answers are sacctmgr's, as it printed them.
type answers struct {
	Asked   time.Time `json:"asked"`
	QoS     string    `json:"qos"`
	Assoc   string    `json:"assoc"`
	Account string    `json:"account"` // the user's default one
}

// askLimits asks accounting for qos and associations. After a question that is not
// answered the others are not asked: each may take a minute.
func (c *Commands) askLimits(ctx context.Context) (a answers, err error) {
	a.Asked = time.Now()
	for _, q := range []struct {
		to   *string
		argv []string
	}{
		{&a.QoS, []string{"show", "qos", "format=" + strings.Join(qosFields, ",")}},
		{&a.Assoc, []string{"show", "assoc", "where", "user=" + c.User, "format=" + strings.Join(assocFields, ",")}},
		{&a.Account, []string{"show", "user", "name=" + c.User, "format=DefaultAccount"}},
	} {
		out, err := c.told(ctx, accountTimeout, append([]string{"sacctmgr", "-n", "-P"}, q.argv...)...)
		if err != nil {
			return a, err
		}
		*q.to = string(out)
	}
	return a, nil
}

// limits are what accounting says of qos and associations, or said when it was
// asked last.
func (s *Facts) limits(ctx context.Context, c *Commands, config map[string]string) {
	a, err := c.askLimits(ctx)
	away := err != nil && strings.Contains(config["AccountingStorageType"], "slurmdbd")
	file := c.keptLimits(config["ClusterName"])
	switch {
	case err == nil && file != "":
		keep(file, a)
	case away:
		s.LimitsAway = err.Error()
		if old, ok := kept(file); ok {
			a, err = old, nil
			s.LimitsOf = old.Asked
		}
	}
	s.qos, s.Associations, s.defaultAccount = parseQoS(a.QoS), parseAssoc(a.Assoc), strings.TrimSpace(a.Account)
	s.Closed = err != nil || len(s.Associations) == 0
	s.Enforced = s.Enforced && err == nil
}

// keptLimits is the file of a cluster's limits, "" where they are not kept.
func (c *Commands) keptLimits(cluster string) string {
	if c.Keep == "" || cluster == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(cluster + "\x00" + c.User))
	return filepath.Join(c.Keep, "limits-"+hex.EncodeToString(sum[:8])+".json")
}

// keep writes answers down, if it can.
func keep(file string, a answers) {
	text, err := json.Marshal(a)
	if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(file), "limits-*.new")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if f.Close() == nil && err == nil {
		os.Rename(f.Name(), file)
	}
}

func kept(file string) (a answers, ok bool) {
	if file == "" {
		return a, false
	}
	text, err := os.ReadFile(file)
	return a, err == nil && json.Unmarshal(text, &a) == nil && !a.Asked.IsZero()
}

// LimitsNote says that limits could not be asked, and which are used; "" where they
// were.
func (s *Facts) LimitsNote() string {
	switch {
	case s.LimitsAway == "":
		return ""
	case s.LimitsOf.IsZero():
		return "Slurm's accounting does not answer, and muster never saw its limits before: those of qos and accounts are not in this plan, so jobs may wait longer, or be refused (" + s.LimitsAway + ")"
	}
	return fmt.Sprintf("Slurm's accounting does not answer: the limits of qos and accounts are those of %s, %s ago (%s)",
		s.LimitsOf.UTC().Format("2006-01-02 15:04 UTC"), units.FormatDuration(time.Since(s.LimitsOf).Round(time.Minute)), s.LimitsAway)
}
