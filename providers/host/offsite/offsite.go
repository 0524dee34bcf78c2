// Package offsite keeps copies of a job's checkpoints away from the machine that the job runs
// on: on an ssh host, by SFTP, or in an S3 bucket. It knows neither jobs nor checkpoints: a
// place holds files, and each appears whole or not at all.
package offsite

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

const (
	ioPatience  = 2 * time.Minute // a link that moves no byte for so long is dead
	dialTimeout = 30 * time.Second
)

// A Folder is a folder for copies.
type Folder interface {
	// List is the names of the whole copies; none where the folder is not there yet.
	List(ctx context.Context) ([]string, error)
	// Write stores the output of fill under a name. If it fails, no copy of that name
	// appears.
	Write(ctx context.Context, name string, fill func(io.Writer) error) error
	// Read opens a copy.
	Read(ctx context.Context, name string) (io.ReadCloser, error)
	// Remove removes a copy.
	Remove(ctx context.Context, name string) error
	Close() error
}

// Open opens a folder at a target. get reads the job's variables.
func Open(ctx context.Context, t offer.CopyTo, folder string, get func(name string) string) (Folder, error) {
	secret, other := t.Needs()
	for _, name := range []string{secret, other} {
		if get(name) == "" {
			return nil, fmt.Errorf("the job has no %s", name)
		}
	}
	folder = path.Join(t.Folder, folder)
	if t.SSH {
		return openSSH(ctx, t, folder, get)
	}
	return openS3(t, strings.TrimPrefix(folder, "/"), get), nil
}
