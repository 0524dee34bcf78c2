package batch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/host/spool"
)

// clusterFile holds the name of the cluster that has a spool's jobs, beside its
// identity.
const clusterFile = "cluster"

// spools are a campaign's spools in one workdir. Login nodes of two clusters may
// see one workdir: each cluster has a spool of its own there, as it does not know
// the other's jobs.
type spools struct {
	first   string // spool of the first cluster of the workdir
	dir     string // spool of the cluster that answers
	cluster string // its name, "" where it does not tell one
	located bool   // it is known which cluster answers
}

// spoolDir is a campaign's directory in a workdir.
func spoolDir(workdir, folder, lineage, backend string) string {
	sum := sha256.Sum256([]byte(lineage + "\x00" + backend))
	return filepath.Join(workdir, ".muster", folder, hex.EncodeToString(sum[:8]))
}

func clusterOf(spool string) string {
	text, _ := os.ReadFile(filepath.Join(spool, clusterFile)) // older spools have none
	return strings.TrimSpace(string(text))
}

// locate selects the spool of the cluster that answers, and reports whether it is
// another one than before. The first cluster of a workdir has the spool without a
// name.
func (s *spools) locate(cluster string) (moved bool) {
	at := s.first
	if of, own := clusterOf(s.first), ownSpool(s.first, cluster); cluster != "" && (of != "" && of != cluster || exists(own)) {
		at = own
	}
	moved = at != s.dir
	s.dir, s.cluster, s.located = at, cluster, true
	return moved
}

// ownSpool is the spool of a cluster that is not the first in its workdir.
func ownSpool(first, cluster string) string {
	return first + "@" + strings.ReplaceAll(cluster, string(filepath.Separator), "_")
}

func (s *spools) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// spool is the selected spool.
func (s *spools) spool() node.Spool { return node.Spool(s.dir) }

// make creates the folders of the selected spool.
func (s *spools) make() error {
	for _, d := range node.Dirs {
		if err := os.MkdirAll(s.path(d), 0o700); err != nil {
			return fmt.Errorf("make the spool: %w", err)
		}
	}
	providers.KeepFromGit(filepath.Dir(filepath.Dir(s.dir)))
	return s.mark()
}

// mark gives a spool its identity, and its cluster's name.
func (s *spools) mark() error {
	if err := spool.Identify(s.dir); err != nil || s.cluster == "" || clusterOf(s.dir) != "" {
		return err
	}
	if err := os.WriteFile(s.path(clusterFile), []byte(s.cluster+"\n"), 0o600); err != nil {
		return fmt.Errorf("mark spool: %w", err)
	}
	return nil
}

// fence refuses a muster whose lease another one has taken over.
func (s *spools) fence(n uint64, holder string) error {
	next, changed, err := s.spool().Fence().Admit(n, holder)
	if !changed {
		return err
	}
	return errors.Join(s.make(), s.spool().WriteFence(next))
}

// elsewhere are the jobs of this campaign on other clusters, by token, with their
// spool.
func (s *spools) elsewhere() (map[string]node.Spool, error) {
	out := map[string]node.Spool{}
	all, err := os.ReadDir(filepath.Dir(s.first))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the spools of other clusters: %w", err)
	}
	for _, d := range all {
		dir := filepath.Join(filepath.Dir(s.first), d.Name())
		if dir == s.dir || dir != s.first && !strings.HasPrefix(dir, s.first+"@") {
			continue
		}
		batches, _ := filepath.Glob(filepath.Join(dir, "batches", "*", "index"))
		for _, index := range batches {
			elements, err := node.Batch(filepath.Dir(index)).Read()
			if err != nil {
				return nil, fmt.Errorf("read the spool of another cluster: %w", err)
			}
			for _, e := range elements {
				out[e.Job.Token] = node.Spool(dir)
			}
		}
	}
	return out, nil
}

// another says that another cluster has a job.
func (s *spools) another(at node.Spool) string {
	of := cmp.Or(clusterOf(string(at)), "another one")
	return fmt.Sprintf("it was submitted to the cluster %s, and %s answers: reach %s again", of, cmp.Or(s.cluster, "this one"), of)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
