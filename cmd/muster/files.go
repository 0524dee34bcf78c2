package main

import (
	"os"
	"path/filepath"
)

// dataDir is the folder for everything but the state: caches, requests, providers of this
// campaign. MUSTER_DATA_DIR moves it off a read-only checkout.
func (ws *workspace) dataDir() string {
	if d := os.Getenv("MUSTER_DATA_DIR"); d != "" {
		return d
	}
	return filepath.Join(ws.dir, ".muster")
}

// cacheDir is the folder for files that muster can make again; "" where an untrusted link
// leads it out of the checkout.
func (ws *workspace) cacheDir() string {
	dir := filepath.Join(ws.dataDir(), "cache")
	if ws.guard.Data(dir) != nil {
		return ""
	}
	return dir
}

// requestsDir is where commands leave requests for the muster that holds the lease.
func (ws *workspace) requestsDir() string { return filepath.Join(ws.dataDir(), "requests") }

// meetLinks notes the links that would lead an apply's files out of the checkout.
func (ws *workspace) meetLinks() {
	for _, dir := range []string{ws.requestsDir(), filepath.Join(ws.dir, ".muster", "rentals")} {
		_ = ws.guard.Data(dir)
	}
}
