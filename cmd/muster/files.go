package main

import (
	"os"
	"path/filepath"
)

// dataDir is where muster keeps what is not state: caches, requests,
// providers of this campaign. MUSTER_DATA_DIR moves it off a read-only
// checkout.
func (ws *workspace) dataDir() string {
	if d := os.Getenv("MUSTER_DATA_DIR"); d != "" {
		return d
	}
	return filepath.Join(ws.dir, ".muster")
}

// cacheDir is where muster keeps what it can make again.
func (ws *workspace) cacheDir() string { return filepath.Join(ws.dataDir(), "cache") }
