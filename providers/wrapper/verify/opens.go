package verify

import (
	"path/filepath"

	"github.com/muster-run/muster/providers"
)

// Opens calls may with the path of each file that Check would open, and ends with its first
// error. A manifest is opened for the files that it lists once may has allowed it.
func Opens(workdir string, o providers.Output, may func(path string) error) error {
	if o.Shared {
		return nil
	}
	for _, f := range opened(workdir, o) {
		if !f.folder {
			if err := may(f.path); err != nil {
				return err
			}
		}
		for _, c := range o.Verify {
			if c.Kind != "sha256" || o.Kind == "dir" && !f.folder {
				continue
			}
			path := f.manifest(c)
			if err := may(path); err != nil {
				return err
			}
			denied := error(nil)
			_ = eachListed(path, func(name, _ string) error { // Check reports its errors
				denied = may(join(filepath.Dir(path), name))
				return denied
			})
			if denied != nil {
				return denied
			}
		}
	}
	return nil
}

// opened are the files of an output, and the folder of a dir. None of them is open.
func opened(workdir string, o providers.Output) (out []file) {
	if !isSet(o) {
		return []file{{path: join(workdir, o.Path), workdir: workdir}}
	}
	base, list, err := members(workdir, o)
	if err != nil {
		return nil // Check opens none
	}
	if o.Kind == "dir" {
		out = append(out, file{path: base, workdir: workdir, folder: true})
	}
	for _, m := range list {
		out = append(out, file{path: filepath.Join(base, filepath.FromSlash(m.name)), workdir: workdir})
	}
	return out
}
