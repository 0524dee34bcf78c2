package sshx

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The format is ssh_config(5)'s, written here rather than taken from a
// library: those at hand leave out what laboratories use (Match, first value
// of many files, tokens, quoting, Include inside a block), and a setting that
// is read wrong sends a campaign to the wrong host.

const maxIncludes = 16 // readconf.c, READCONF_MAX_DEPTH

// settings are what the configuration says for one host: the first value of
// each keyword, in lower case, and all values of those that add up.
type settings struct {
	values map[string]string
	many   map[string][]string
	notes  []string // what was met and is not followed
}

func (s *settings) get(keyword string) string { return s.values[keyword] }

// A reader walks the configuration for one host.
type reader struct {
	home     string
	alias    string // as the user wrote it
	subject  string // what Host lines speak of: the alias, in the last pass the name it stands for
	user     string // stated by the campaign, else empty
	final    bool   // the pass in which `Match final` holds
	again    bool   // some file has `Match final`
	settings *settings
}

// readConfig reads the files in order for one host; a file that is not there
// says nothing.
func readConfig(files []configFile, home, alias, user string) (*settings, error) {
	r := &reader{home: home, alias: alias, subject: alias, user: user, settings: &settings{values: map[string]string{}, many: map[string][]string{}}}
	for pass := 0; pass < 2; pass++ {
		for _, f := range files {
			if err := r.file(f, true, 0); err != nil {
				return nil, err
			}
		}
		if !r.again || r.final {
			break
		}
		r.final, r.subject = true, strings.ToLower(r.hostName())
		r.settings.values["hostname"] = strings.ReplaceAll(r.subject, "%", "%%")
	}
	return r.settings, nil
}

// A configFile is one file and where its relative includes are.
type configFile struct {
	path string
	base string
	mine bool // the user's own, which others must not be able to write
}

func (o Options) configFiles() []configFile {
	mine := filepath.Join(o.Home, ".ssh")
	if o.ConfigFiles != nil {
		var out []configFile
		for _, f := range o.ConfigFiles {
			out = append(out, configFile{path: f, base: mine})
		}
		return out
	}
	return []configFile{
		{path: filepath.Join(mine, "config"), base: mine, mine: true},
		{path: "/etc/ssh/ssh_config", base: "/etc/ssh"},
	}
}

// file reads one file. Its lines count where active holds, until its own Host
// or Match lines say otherwise.
func (r *reader) file(f configFile, active bool, depth int) error {
	if depth > maxIncludes {
		return configError("ssh configuration includes itself", f.path+" is included more than "+fmt.Sprint(maxIncludes)+" deep", "")
	}
	in, err := os.Open(f.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return configError("cannot read the ssh configuration", err.Error(), "")
	}
	defer in.Close()
	if err := f.safe(in); err != nil {
		return err
	}
	outer := active
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		at := fmt.Sprintf("%s:%d", f.path, n)
		words, err := line(lines.Text())
		if err != nil {
			return configError("cannot read the ssh configuration", fmt.Sprintf("%s: %v", at, err), "")
		}
		if len(words) == 0 {
			continue
		}
		keyword, args := strings.ToLower(words[0]), words[1:]
		switch keyword {
		case "host":
			active = outer && matchList(args, r.subject)
		case "match":
			active = outer && r.match(args, at)
		case "include":
			if active {
				if err := r.include(f, args, depth); err != nil {
					return err
				}
			}
		default:
			if active {
				r.set(keyword, args, at)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return configError("cannot read the ssh configuration", fmt.Sprintf("%s: %v", f.path, err), "")
	}
	return nil
}

// safe refuses what ssh(1) refuses: a user's configuration that others may
// write could run their commands.
func (f configFile) safe(in *os.File) error {
	if !f.mine {
		return nil
	}
	info, err := in.Stat()
	if err != nil {
		return configError("cannot read the ssh configuration", err.Error(), "")
	}
	if info.Mode().Perm()&0o022 != 0 {
		return configError("ssh configuration may be written by others", f.path+" has mode "+info.Mode().Perm().String(), "chmod 600 "+f.path)
	}
	return nil
}

func (r *reader) include(f configFile, patterns []string, depth int) error {
	for _, p := range patterns {
		p = expandTilde(os.Expand(p, func(name string) string { return os.Getenv(name) }), r.home)
		if !filepath.IsAbs(p) {
			p = filepath.Join(f.base, p)
		}
		files, err := filepath.Glob(p)
		if err != nil {
			return configError("cannot read the ssh configuration", fmt.Sprintf("%s: Include %s: %v", f.path, p, err), "")
		}
		slices.Sort(files)
		for _, name := range files {
			if info, err := os.Stat(name); err != nil || info.Mode()&fs.ModeDir != 0 {
				continue
			}
			if err := r.file(configFile{path: name, base: f.base, mine: f.mine}, true, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// addUp are the keywords of which every value counts (ssh_config(5)).
var addUp = []string{"identityfile", "certificatefile"}

// lists are the keywords whose values are several words.
var lists = []string{"userknownhostsfile", "globalknownhostsfile"}

func (r *reader) set(keyword string, args []string, at string) {
	s := r.settings
	if len(args) == 0 {
		return
	}
	switch {
	case slices.Contains(addUp, keyword):
		if !slices.Contains(s.many[keyword], args[0]) {
			s.many[keyword] = append(s.many[keyword], args[0])
		}
	case slices.Contains(lists, keyword):
		if s.many[keyword] == nil {
			s.many[keyword] = args
		}
	default:
		// Of the two ways to a host the one stated first counts.
		if keyword == "proxyjump" && s.get("proxycommand") != "" || keyword == "proxycommand" && s.get("proxyjump") != "" {
			return
		}
		if _, ok := s.values[keyword]; !ok {
			s.values[keyword] = strings.Join(args, " ")
			r.note(keyword, args, at)
		}
	}
}

// unfollowed are settings that can decide whether a host is reached, and that
// muster does not follow; the value is the one that asks for nothing.
var unfollowed = map[string]string{
	"canonicalizehostname": "no", "pkcs11provider": "none", "knownhostscommand": "none",
	"remotecommand": "none", "proxyusefdpass": "no", "verifyhostkeydns": "no", "bindinterface": "none",
}

func (r *reader) note(keyword string, args []string, at string) {
	if off, ok := unfollowed[keyword]; ok && !strings.EqualFold(args[0], off) {
		r.tell(fmt.Sprintf("%s: %s is not followed", at, keyword))
	}
}

func (r *reader) tell(note string) {
	if !slices.Contains(r.settings.notes, note) {
		r.settings.notes = append(r.settings.notes, note)
	}
}
