package lambda

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
)

// A launching is the body of a launch: the document's fields, and those of newer
// ones.
type launching struct {
	Region      string            `json:"region_name"`
	Type        string            `json:"instance_type_name"`
	Keys        []string          `json:"ssh_key_names"`
	FileSystems []string          `json:"file_system_names"`
	Name        string            `json:"name"`
	Image       map[string]string `json:"image"`
	UserData    string            `json:"user_data"`
	// Newer ones.
	Hostname string              `json:"hostname"`
	Tags     []map[string]string `json:"tags"`
}

func (r *launching) tags() []map[string]string { return append([]map[string]string{}, r.Tags...) }

// Limits of a launch.
const (
	longestName = 64
	longestData = 1 << 20
)

// launch makes one instance.
func (l *Lambda) launch(c *cloudsim.Call) cloudsim.Answer {
	var r launching
	if err := cloudsim.Parse(c.Body, &r); err != nil {
		return invalid(err.Error())
	}
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == r.Type })
	switch {
	case !l.newer && (r.Tags != nil || r.Hostname != ""):
		return invalid("json: unknown field")
	case at < 0:
		return invalid("Invalid instance type: " + r.Type)
	case regionNames[r.Region] == "":
		return invalid("Invalid region: " + r.Region)
	case len(r.Keys) != 1:
		return invalid("Exactly one SSH key must be specified.")
	case len(r.Name) > longestName:
		return invalid("Instance name must be 64 characters or fewer.")
	case len(r.UserData) > longestData:
		return invalid("User data must not exceed 1MB.")
	case len(r.FileSystems) > 1:
		return invalid("Only one filesystem may be attached.")
	}
	k := &kinds[at]
	key := l.keyOf(c.Account, func(key *sshKey) bool { return key.name == r.Keys[0] })
	if key == nil {
		return failure(http.StatusBadRequest, "global/object-does-not-exist", "Specified SSH key does not exist: "+r.Keys[0])
	}
	if len(r.Image) > 0 && !slices.ContainsFunc(allImages(), func(i image) bool {
		return i.region == r.Region && i.architecture == k.architecture() && (i.id == r.Image["id"] || r.Image["family"] != "" && i.family == r.Image["family"])
	}) {
		return absent("Specified image does not exist.")
	}
	if a, ok := l.attachable(c.Account, &r); !ok {
		return a
	}
	switch f := l.World.Faults.Take("launch", r.Name, noCapacity, quota, badAddress); {
	case f != nil && f.Do == quota:
		return failure(http.StatusBadRequest, "global/quota-exceeded", "Quota exceeded.", "Contact Support to increase your quota.")
	case f != nil && f.Do == badAddress:
		return failure(http.StatusForbidden, "global/invalid-address", "Your billing address is invalid.")
	case f != nil, l.free[place{k.name, r.Region}] < 1:
		return failure(http.StatusBadRequest, "instance-operations/launch/insufficient-capacity", "Not enough capacity to fulfill launch request.")
	}
	i := l.begin(c.Account, k, &r, key)
	return data(map[string]any{"instance_ids": []string{i.id}})
}

// attachable refuses file systems that are elsewhere, or nowhere.
func (l *Lambda) attachable(a *cloudsim.Account, r *launching) (cloudsim.Answer, bool) {
	for _, name := range r.FileSystems {
		at := slices.IndexFunc(l.systems, func(s *fileSystem) bool { return s.account == a && s.name == name })
		switch {
		case at < 0:
			return failure(http.StatusBadRequest, "global/object-does-not-exist", "Specified filesystem does not exist: "+name), false
		case l.systems[at].region != r.Region:
			return failure(http.StatusBadRequest, "instance-operations/launch/file-system-in-wrong-region", "Filesystem "+name+" is in another region."), false
		}
	}
	return cloudsim.Answer{}, true
}

// list has all instances, and for a while those that were terminated.
func (l *Lambda) list(c *cloudsim.Call) cloudsim.Answer {
	seen := c.Now
	if f := l.World.Faults.Take("list", "", lag); f != nil {
		seen = seen.Add(-time.Duration(f.For))
	}
	rows := []any{}
	for _, i := range l.instances {
		if i.account == c.Account && !i.created.After(seen) && (!i.gone() || i.ended.Add(listed).After(seen)) {
			rows = append(rows, i.row())
		}
	}
	return data(rows)
}

// own is the instance of a call's path.
func (l *Lambda) own(c *cloudsim.Call) *instance {
	i := l.find(c.Account, c.Var("id"))
	if i != nil && i.gone() && c.Now.Sub(i.ended) > listed {
		return nil
	}
	return i
}

var noInstance = absent("Specified instance does not exist.")

func (l *Lambda) show(c *cloudsim.Call) cloudsim.Answer {
	i := l.own(c)
	if i == nil {
		return noInstance
	}
	return data(i.row())
}

func (l *Lambda) rename(c *cloudsim.Call) cloudsim.Answer {
	var r struct{ Name *string }
	i := l.own(c)
	switch err := cloudsim.Parse(c.Body, &r); {
	case i == nil:
		return noInstance
	case err != nil:
		return invalid(err.Error())
	case r.Name != nil && len(*r.Name) > longestName:
		return invalid("Instance name must be 64 characters or fewer.")
	case r.Name != nil:
		i.name = *r.Name
	}
	return data(i.row())
}

// each finds the instances that a restart or a terminate names: all, or an error.
func (l *Lambda) each(c *cloudsim.Call) (all []*instance, a cloudsim.Answer) {
	var r struct {
		IDs []string `json:"instance_ids"`
	}
	if err := cloudsim.Parse(c.Body, &r); err != nil || len(r.IDs) == 0 {
		return nil, invalid("Invalid request data.")
	}
	for _, id := range r.IDs {
		i := l.find(c.Account, id)
		if i == nil || i.gone() {
			return nil, noInstance
		}
		all = append(all, i)
	}
	return all, a
}

func rows(all []*instance) []any {
	out := []any{}
	for _, i := range all {
		out = append(out, i.row())
	}
	return out
}

func (l *Lambda) restart(c *cloudsim.Call) cloudsim.Answer {
	all, a := l.each(c)
	if all == nil {
		return a
	}
	for _, i := range all {
		i.reboot()
	}
	return data(map[string]any{"restarted_instances": rows(all)})
}

// terminate answers at once, and takes a moment.
func (l *Lambda) terminate(c *cloudsim.Call) cloudsim.Answer {
	all, a := l.each(c)
	if all == nil {
		return a
	}
	for _, i := range all {
		if i.status == booting && l.World.Faults.Take("terminate", i.name, refused) != nil {
			return invalid("Instance has not launched yet.")
		}
	}
	for _, i := range all {
		i.end()
	}
	return data(map[string]any{"terminated_instances": rows(all)})
}

// An sshKey is one that the account has registered.
type sshKey struct {
	id, name, text string
	account        *cloudsim.Account
}

func (k *sshKey) row() map[string]any {
	return map[string]any{"id": k.id, "name": k.name, "public_key": k.text}
}

func (l *Lambda) keyOf(a *cloudsim.Account, is func(*sshKey) bool) *sshKey {
	at := slices.IndexFunc(l.keys, func(k *sshKey) bool { return k.account == a && is(k) })
	if at < 0 {
		return nil
	}
	return l.keys[at]
}

func (l *Lambda) sshKeys(c *cloudsim.Call) cloudsim.Answer {
	out := []any{}
	for _, k := range l.keys {
		if k.account == c.Account {
			out = append(out, k.row())
		}
	}
	return data(out)
}

// addKey registers a key. It makes none: muster brings its own.
func (l *Lambda) addKey(c *cloudsim.Call) cloudsim.Answer {
	var r struct {
		Name string `json:"name"`
		Text string `json:"public_key"`
	}
	err := cloudsim.Parse(c.Body, &r)
	switch {
	case err != nil:
		return invalid(err.Error())
	case r.Name == "" || len(r.Name) > longestName:
		return invalid("SSH key name must have 1 to 64 characters.")
	case len(r.Text) > 4096 || len(strings.Fields(r.Text)) < 2 || strings.Contains(r.Text, "\n"):
		return invalid("Invalid SSH public key.")
	case l.keyOf(c.Account, func(k *sshKey) bool { return k.name == r.Name }) != nil:
		return invalid("An SSH key with this name exists.")
	}
	k := &sshKey{id: newID(), name: r.Name, text: r.Text, account: c.Account}
	l.keys = append(l.keys, k)
	return data(k.row())
}

// deleteKey has 400 where there is no such key: the document has no other answer.
func (l *Lambda) deleteKey(c *cloudsim.Call) cloudsim.Answer {
	k := l.keyOf(c.Account, func(k *sshKey) bool { return k.id == c.Var("id") })
	if k == nil {
		return invalid("Specified SSH key does not exist.")
	}
	l.keys = slices.DeleteFunc(l.keys, func(o *sshKey) bool { return o == k })
	return data(map[string]any{})
}

// A fileSystem outlives instances, and is billed until it is deleted. Nothing is
// stored in it here.
type fileSystem struct {
	id, name, region string
	account          *cloudsim.Account
	created          time.Time
}

func (l *Lambda) inUse(s *fileSystem) bool {
	return slices.ContainsFunc(l.instances, func(i *instance) bool {
		return !i.gone() && i.account == s.account && slices.Contains(i.asked.FileSystems, s.name)
	})
}

func (l *Lambda) systemRow(s *fileSystem) map[string]any {
	return map[string]any{
		"id": s.id, "name": s.name, "mount_point": "/lambda/nfs/" + s.name, "created": s.created.UTC().Format(time.RFC3339), "is_in_use": l.inUse(s), "region": region(s.region), "bytes_used": 0,
		"created_by": map[string]any{"id": s.account.Name, "email": s.account.Name + "@example.org", "status": "active"},
	}
}

func (l *Lambda) fileSystems(c *cloudsim.Call) cloudsim.Answer {
	out := []any{}
	for _, s := range l.systems {
		if s.account == c.Account {
			out = append(out, l.systemRow(s))
		}
	}
	return data(out)
}

func (l *Lambda) createSystem(c *cloudsim.Call) cloudsim.Answer {
	var r struct{ Name, Region string }
	err := cloudsim.Parse(c.Body, &r)
	switch {
	case err != nil || r.Name == "" || len(r.Name) > 60 || regionNames[r.Region] == "":
		return invalid("Invalid request data.")
	case slices.ContainsFunc(l.systems, func(s *fileSystem) bool { return s.account == c.Account && s.name == r.Name }):
		return failure(http.StatusBadRequest, "global/duplicate", "A filesystem with this name exists.")
	}
	s := &fileSystem{id: newID(), name: r.Name, region: r.Region, account: c.Account, created: c.Now}
	l.systems = append(l.systems, s)
	return data(l.systemRow(s))
}

func (l *Lambda) deleteSystem(c *cloudsim.Call) cloudsim.Answer {
	at := slices.IndexFunc(l.systems, func(s *fileSystem) bool { return s.account == c.Account && s.id == c.Var("id") })
	switch {
	case at < 0:
		return absent("Filesystem was not found.")
	case l.inUse(l.systems[at]):
		return failure(http.StatusBadRequest, "filesystems/filesystem-in-use", "Filesystem is in use.")
	}
	id := l.systems[at].id
	l.systems = slices.Delete(l.systems, at, at+1)
	return data(map[string]any{"deleted_ids": []string{id}})
}
