package vastai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/cloudsim"
)

// An sshKey is one of an account, or one that was attached to an instance alone.
type sshKey struct {
	id      int
	account *cloudsim.Account
	text    string
	created time.Time
	deleted bool
}

// keysOf are the keys that instances of an account get when they are created.
func (v *Vast) keysOf(a *cloudsim.Account) (out []*sshKey) {
	for _, k := range v.keys {
		if k.account == a && !k.deleted {
			out = append(out, k)
		}
	}
	return out
}

func (v *Vast) newKey(a *cloudsim.Account, body []byte) *sshKey {
	var r struct {
		Text string `json:"ssh_key"`
	}
	if cloudsim.Parse(body, &r) != nil {
		return nil
	}
	text := strings.TrimSpace(strings.ReplaceAll(r.Text, "\x00", ""))
	if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text)); err != nil || strings.Contains(text, "\n") {
		return nil
	}
	return &sshKey{id: 311 + len(v.keys), account: a, text: text, created: v.Clock.Now()}
}

var noKey = failure(http.StatusBadRequest, "no_ssh_key", "No ssh key provided")

func (k *sshKey) row(name string) map[string]any {
	return map[string]any{"id": k.id, "user_id": k.account.ID, name: k.text, "created_at": k.created.UTC().Format(time.RFC3339), "deleted_at": nil}
}

// sshKeys is a bare list.
func (v *Vast) sshKeys(c *cloudsim.Call) cloudsim.Answer {
	rows := []map[string]any{}
	for _, k := range v.keysOf(c.Account) {
		rows = append(rows, k.row("key"))
	}
	return cloudsim.JSON(http.StatusOK, rows)
}

// createKey adds a key to the account: instances that there are do not get it.
func (v *Vast) createKey(c *cloudsim.Call) cloudsim.Answer {
	k := v.newKey(c.Account, c.Body)
	if k == nil {
		return noKey
	}
	v.keys = append(v.keys, k)
	return cloudsim.JSON(http.StatusOK, map[string]any{"success": true, "key": k.row("public_key")})
}

func (v *Vast) deleteKey(c *cloudsim.Call) cloudsim.Answer {
	n, _ := id(c, "key")
	for _, k := range v.keysOf(c.Account) {
		if k.id == n {
			k.deleted = true
			return success
		}
	}
	return noKey
}

// noInstance is the answer where a call about the keys of an instance finds none.
var noInstance = failure(http.StatusNotFound, "no_such_instance", "Instance not found.")

// instanceKeys has the list as a string of JSON.
func (v *Vast) instanceKeys(c *cloudsim.Call) cloudsim.Answer {
	i, _ := v.own(c)
	if i == nil {
		return noInstance
	}
	rows := []map[string]any{}
	for _, k := range i.sshKeys {
		rows = append(rows, k.row("public_key"))
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic(err) // our own values
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"success": true, "ssh_keys": string(text)})
}

func (v *Vast) attachKey(c *cloudsim.Call) cloudsim.Answer {
	i, _ := v.own(c)
	if i == nil {
		return noInstance
	}
	k := v.newKey(c.Account, c.Body)
	if k == nil {
		return noKey
	}
	k.deleted = true // of this instance alone
	v.keys = append(v.keys, k)
	i.sshKeys = append(i.sshKeys, k)
	i.authorize()
	return cloudsim.JSON(http.StatusOK, map[string]any{"success": true, "msg": "SSH key attached successfully"})
}

func (v *Vast) detachKey(c *cloudsim.Call) cloudsim.Answer {
	i, _ := v.own(c)
	if i == nil {
		return noInstance
	}
	n, _ := id(c, "key")
	had := len(i.sshKeys)
	i.sshKeys = slices.DeleteFunc(slices.Clone(i.sshKeys), func(k *sshKey) bool { return k.id == n })
	if len(i.sshKeys) == had {
		return failure(http.StatusNotFound, "no_such_ssh_key", "SSH key not found.")
	}
	i.authorize()
	return cloudsim.JSON(http.StatusOK, map[string]any{"success": true, "msg": "SSH key removed from instance."})
}

func (i *instance) keyTexts() (out []string) {
	for _, k := range i.sshKeys {
		out = append(out, k.text)
	}
	return out
}

func (i *instance) authorize() {
	if box, keys := i.box, i.keyTexts(); box != nil && i.booted {
		i.runner.Then(func() { _ = box.Authorize(keys) })
	}
}
