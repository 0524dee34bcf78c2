package site

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
)

// Kept is the part of a backend's configuration that a state may keep: all but sensitive
// values. muster reaches a backend that has left the campaign with it, and asks for the rest.
func Kept(c *lang.Campaign, b *lang.Backend, lineage string) providers.Backend {
	conf := Backend(c, b, lineage)
	if b.SecretSetup {
		conf.Setup = ""
	}
	if b.SecretEnv {
		conf.Env = nil
	}
	for _, pointer := range b.Sensitive {
		conf.Config = without(conf.Config, pointer)
	}
	return conf
}

// without removes the target of a JSON pointer (RFC 6901) from a document. A
// document that cannot be read is dropped whole.
func without(doc json.RawMessage, pointer string) json.RawMessage {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	at := v
	for i, step := range steps {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		last := i == len(steps)-1
		switch holder := at.(type) {
		case map[string]any:
			if last {
				delete(holder, step)
			}
			at = holder[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(holder) {
				return doc
			}
			if last {
				holder[n] = nil
			}
			at = holder[n]
		default:
			return doc
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}
