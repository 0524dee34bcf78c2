package source

import (
	"context"
	"errors"
	"io"
	"path"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
)

// In is the read-only copy of a source below a workdir, "" without a digest:
// there is no source.
func In(workdir, digest string) string {
	if digest == "" {
		return ""
	}
	return path.Join(workdir, ".muster", "source", digest)
}

// ShoreOf gives the files of a backend; name is that of a site.Filesystem for its provider.
func ShoreOf(files providers.Files, name string) Shore { return shore{files, name} }

type shore struct {
	files providers.Files
	name  string
}

func (s shore) There(ctx context.Context, path string) (bool, error) {
	found, err := s.files.List(ctx, s.name, []string{path})
	return len(found) > 0, err
}

// digestsMax is how many files are asked for at once.
const digestsMax = 1000

func (s shore) Digests(ctx context.Context, dir string, files []string) ([]string, error) {
	out := make([]string, 0, len(files))
	for part := range slices.Chunk(files, digestsMax) {
		ask := providers.VerifyRequest{Backend: s.name, Workdir: dir, Open: true}
		for _, f := range part {
			ask.Outputs = append(ask.Outputs, providers.Output{Name: f, Kind: string(lang.File), Path: f})
		}
		got, err := s.files.Verify(ctx, ask)
		if err != nil {
			return nil, err
		}
		if len(got) != len(part) {
			return nil, errors.New("the backend gave no verdict")
		}
		for _, o := range got {
			out = append(out, o.Digest)
		}
	}
	return out, nil
}

func (s shore) Push(ctx context.Context, path string, size int64, digest string, r io.ReadSeeker) error {
	return s.files.Push(ctx, s.name, path, size, digest, r)
}
