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
	path := f.manifest(c)
	listed, entries := false, 0
	err := eachListed(path, func(name, want string) error {
		target := join(filepath.Dir(path), name)
		listed = listed || target == f.path
		entries++
		if err := compare(ctx, f, target, want); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case entries == 0:
		return fmt.Errorf("manifest %s lists nothing", filepath.Base(path))
	case !listed && path != f.path && !f.folder:
		return fmt.Errorf("manifest %s does not list the file", filepath.Base(path))
	}
	return nil
}

// eachListed calls fn with each name and digest of a manifest, until it errs.
func eachListed(path string, fn func(name, sum string) error) error {
	m, err := openRegular(path)
	if err != nil {
		return fmt.Errorf("manifest %s: %w", filepath.Base(path), err)
	}
	defer m.Close()
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
		if err := fn(name, want); err != nil {
			return err
		}
	}
	if lines.Err() != nil {
		return fmt.Errorf("manifest %s: %w", filepath.Base(path), lines.Err())
	}
	return nil
}

// manifest is the path of the manifest of a check: the file itself, or the one that the check
// names.
func (f *file) manifest(c providers.VerifyCheck) string {
	if c.File == "" {
		return f.path
	}
	path := join(f.workdir, c.File)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	dir := f.path
	if !f.folder {
		dir = filepath.Dir(f.path)
	}
	if beside := join(dir, c.File); beside != path {
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
