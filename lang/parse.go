package lang

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The names of files that are read.
const (
	campaignSuffix = ".muster.hcl"
	autoSuffix     = ".auto.mustervars.hcl"
)

// A varFile holds values of variables.
type varFile struct {
	name string
	body *hclsyntax.Body
}

// readDir reads a directory's files in lexical order.
func (l *loader) readDir() {
	abs, err := filepath.Abs(l.o.Dir)
	if err == nil {
		l.o.Dir, l.c.Dir = abs, abs
	}
	entries, err := os.ReadDir(l.o.Dir)
	if err != nil {
		l.broken, l.lost = true, true
		l.sure.Errorf("The campaign's directory cannot be read", "%v.", err)
		return
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, campaignSuffix) && !strings.HasSuffix(name, autoSuffix) {
			continue
		}
		src, err := readCapped(filepath.Join(l.o.Dir, name))
		if err != nil {
			l.broken, l.lost = true, true
			l.sure.Errorf("A file cannot be read", "%v.", err)
			continue
		}
		l.addFile(name, src)
	}
}

// readCapped reads a file, at most one byte more than scan allows.
func readCapped(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, min(info.Size(), maxFileBytes+4)+1)
	n := 0
	for n < len(buf) {
		m, err := f.Read(buf[n:])
		if n += m; m == 0 || err != nil {
			break
		}
	}
	return buf[:n], nil
}

// addFile parses one file and keeps its body.
func (l *loader) addFile(name string, src []byte) {
	body, ok := l.parse(name, src)
	switch {
	case !ok:
		return
	case strings.HasSuffix(name, campaignSuffix):
		l.digest.add("file", name, src)
		l.bodies = append(l.bodies, body)
	case strings.HasSuffix(name, autoSuffix):
		l.varFiles = append(l.varFiles, varFile{name, body})
	}
}

// parse reads HCL. What could be parsed of a broken file is returned, too.
func (l *loader) parse(name string, src []byte) (*hclsyntax.Body, bool) {
	text, ds := scan(name, src)
	l.c.Files[name] = &hcl.File{Bytes: text, Body: hcl.EmptyBody()}
	if ds.HasErrors() {
		l.broken, l.lost = true, true
		l.sure.Append(ds...)
		return nil, false
	}
	file, hds := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	l.sure.Append(syntaxHints(hds, text)...)
	if hds.HasErrors() {
		l.broken = true
		l.lost = l.lost || file == nil || losesNames(hds, file)
		l.sure.Append(moreOneLiners(name, text, hds)...)
	}
	if file == nil {
		return nil, false
	}
	l.c.Files[name] = file
	body, ok := file.Body.(*hclsyntax.Body)
	return body, ok
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
