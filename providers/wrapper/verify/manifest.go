package verify

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers"
)

// maxManifestLine bounds a line of a manifest, in bytes.
const maxManifestLine = 64 << 10

// checkManifest compares every file that a manifest lists, in the form of
// sha256sum, with its digest. The manifest is the output itself or, with
// file, another one, relative to the workdir or else to the output's folder;
// then it must list the output. Names in it are relative to its own folder.
func checkManifest(ctx context.Context, f *file, c providers.VerifyCheck) error {
	path := f.path
	if c.File != "" {
		path = manifestPath(f, c.File)
	}
	m, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("manifest %s: %w", filepath.Base(path), fault(err))
	}
	defer m.Close()
	listed, entries := false, 0
	lines := bufio.NewScanner(m)
	lines.Buffer(nil, maxManifestLine)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		name, want, ok := manifestLine(strings.TrimSuffix(lines.Text(), "\r"))
		if !ok {
			return fmt.Errorf("manifest %s line %d is not of the form of sha256sum", filepath.Base(path), n)
		}
		target := join(filepath.Dir(path), name)
		listed = listed || target == f.path
		entries++
		if err := compare(ctx, f, target, want); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case lines.Err() != nil:
		return fmt.Errorf("manifest %s: %w", filepath.Base(path), lines.Err())
	case entries == 0:
		return fmt.Errorf("manifest %s lists nothing", filepath.Base(path))
	case !listed && path != f.path && f.f != nil:
		return fmt.Errorf("manifest %s does not list the file", filepath.Base(path))
	}
	return nil
}

func manifestPath(f *file, name string) string {
	path := join(f.workdir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	dir := f.path
	if f.f != nil {
		dir = filepath.Dir(f.path)
	}
	if beside := join(dir, name); beside != path {
		if _, err := os.Stat(beside); err == nil {
			return beside
		}
	}
	return path
}

// compare takes the digest of a listed file; f's own is known already.
func compare(ctx context.Context, f *file, path, want string) (err error) {
	target := f
	if path != f.path {
		if target, err = open(path); err != nil {
			return err
		}
		defer target.close()
	}
	got, err := target.digest(ctx)
	if err == nil && got != "sha256:"+want {
		err = errors.New("its sha256 does not match")
	}
	return err
}

var (
	gnuLine = lazyregexp.New(`^(\\?)([0-9a-fA-F]{64}) [ *](.+)$`)
	bsdLine = lazyregexp.New(`^(\\?)SHA256 \((.+)\) = ([0-9a-fA-F]{64})$`)
	// unescape: sha256sum(1) marks an escaped name by a backslash in front.
	unescape = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
)

// manifestLine reads one line of sha256sum(1), in GNU's form or BSD's.
func manifestLine(line string) (name, sum string, ok bool) {
	escaped := ""
	if m := gnuLine.FindStringSubmatch(line); m != nil {
		escaped, sum, name = m[1], m[2], m[3]
	} else if m := bsdLine.FindStringSubmatch(line); m != nil {
		escaped, name, sum = m[1], m[2], m[3]
	} else {
		return "", "", false
	}
	if escaped != "" {
		name = unescape.Replace(name)
	}
	return name, strings.ToLower(sum), true
}
