package source

import (
	"path"
	"slices"
)

// lockNames are files in which package managers pin versions.
var lockNames = []string{
	"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "pixi.lock", "pylock.toml", "requirements.txt", "conda-lock.yml", "environment.yml", "environment.yaml",
	"renv.lock", "Manifest.toml", "Cargo.lock", "go.sum", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "flake.lock", "spack.lock",
}

// mostLocks bounds the locks that are kept of a tree with many.
const mostLocks = 20

// Locks are the digests of the files of a tree that pin packages, by path.
func (t Tree) Locks() map[string]string {
	var out map[string]string
	for _, f := range t.Files {
		if len(out) < mostLocks && f.Link == "" && slices.Contains(lockNames, path.Base(f.Path)) {
			if out == nil {
				out = map[string]string{}
			}
			out[f.Path] = f.Digest
		}
	}
	return out
}
