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

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/units"
)

// answers are the last answers of sacctmgr, as it printed them. They are kept in a
// file for each cluster and user, and used while slurmdbd does not answer, as
// slurmctld continues to apply the limits. The file is a cache: without it limits
// are then unknown.
type answers struct {
	Asked   time.Time `json:"asked"`
	QoS     string    `json:"qos"`
	Assoc   string    `json:"assoc"`
	Account string    `json:"account"` // the user's default one
}

// askLimits asks accounting for qos and associations. After a question without an
// answer it asks no more: each may take a minute.
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

// limits reads qos and associations, or their last answers.
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

// keptLimits is the file of a cluster's limits; "" = they are not kept.
func (c *Commands) keptLimits(cluster string) string {
	if c.Keep == "" || cluster == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(cluster + "\x00" + c.User))
	return filepath.Join(c.Keep, "limits-"+hex.EncodeToString(sum[:8])+".json")
}

// keep writes answers to a file, if it can.
func keep(file string, a answers) {
	text, err := json.Marshal(a)
	if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = atomicfile.WriteCache(file, text)
}

func kept(file string) (a answers, ok bool) {
	if file == "" {
		return a, false
	}
	text, err := os.ReadFile(file)
	return a, err == nil && json.Unmarshal(text, &a) == nil && !a.Asked.IsZero()
}

// LimitsNote says that accounting does not answer, and which limits are used; "" =
// it does.
func (s *Facts) LimitsNote() string {
	switch {
	case s.LimitsAway == "":
		return ""
	case s.LimitsOf.IsZero():
		return "Slurm's accounting does not answer, and muster never saw its limits before: those of qos and accounts are not in this plan, so jobs may wait longer, or be refused (" + s.LimitsAway + ")"
	}
	return fmt.Sprintf("Slurm's accounting does not answer: the limits of qos and accounts are those of %s, %s ago (%s)",
		units.FormatTime(s.LimitsOf.UTC()), units.FormatDuration(time.Since(s.LimitsOf).Round(time.Minute)), s.LimitsAway)
}
