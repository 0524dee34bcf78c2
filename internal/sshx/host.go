package sshx

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// These limits hold where ssh_config sets none; ssh(1) itself would wait as long as TCP does,
// and would never notice a dead link.
const (
	defaultConnect    = 10 * time.Second
	defaultAliveEvery = 15 * time.Second
	defaultAliveCount = 3
	// authLimit is the time for signing in beyond connecting: keys that need a touch,
	// directories that are slow.
	authLimit = 30 * time.Second
)

// A host is a target with its settings in ssh's configuration.
type host struct {
	alias    string // as asked for
	name     string // name or address to connect to
	port     int
	user     string
	jump     string // ProxyJump, or empty
	proxy    string // ProxyCommand, or empty
	network  string // tcp, tcp4, tcp6
	bind     string
	connect  time.Duration
	alive    keepAlive
	settings *settings
	control  control // where an open connection of ssh(1) may be shared
}

// resolve reads the configuration for one target. It runs `ssh -G`, which runs the commands of
// Match exec; no other part of a connection comes before it.
func resolve(ctx context.Context, t Target, o Options) (*host, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	s, err := readConfig(ctx, t, o)
	if err != nil {
		return nil, err
	}
	h := &host{alias: t.Host, settings: s, proxy: off(s.get("proxycommand")), jump: off(s.get("proxyjump")), bind: off(s.get("bindaddress"))}
	h.name = strings.ToLower(first(s.get("hostname"), t.Host))
	if h.port, err = port(t.Port, s.get("port")); err != nil {
		return nil, err
	}
	h.user = first(t.User, s.get("user"), localUser())
	h.network = map[string]string{"inet": "tcp4", "inet6": "tcp6"}[strings.ToLower(s.get("addressfamily"))]
	if h.network == "" {
		h.network = "tcp"
	}
	h.connect = seconds(s.get("connecttimeout"), defaultConnect)
	h.alive = keepAlive{every: seconds(s.get("serveraliveinterval"), defaultAliveEvery), count: defaultAliveCount}
	if n, err := strconv.Atoi(s.get("serveralivecountmax")); err == nil && n > 0 {
		h.alive.count = n
	}
	h.control = controlOf(h, t, o)
	return h, nil
}

// address is where to connect to.
func (h *host) address() string { return net.JoinHostPort(h.name, strconv.Itoa(h.port)) }

// String is the host for messages: the alias, and the address where it says
// something else.
func (h *host) String() string {
	if h.name == h.alias && h.port == 22 {
		return h.alias
	}
	return fmt.Sprintf("%s (%s)", h.alias, h.address())
}

// keyName is the name that known_hosts holds the host under.
func (h *host) keyName() string {
	if a := h.settings.get("hostkeyalias"); a != "" {
		return strings.ToLower(a)
	}
	return strings.ToLower(h.name)
}

// files are the expanded values of a keyword that names several.
func (h *host) files(keyword, home string, otherwise ...string) ([]string, error) {
	names := h.settings.values[keyword]
	if strings.HasSuffix(keyword, "knownhostsfile") {
		names = paths(h.settings.get(keyword))
	}
	if len(names) == 0 {
		names = otherwise
	}
	t := h.tokens(home)
	var out []string
	for _, n := range names {
		if strings.EqualFold(n, "none") {
			continue
		}
		p, err := t.path(n, home)
		if err != nil {
			return nil, configError("cannot expand "+keyword+" for "+h.alias, err.Error(), "")
		}
		if !filepath.IsAbs(p) {
			if p, err = filepath.Abs(p); err != nil {
				return nil, err
			}
		}
		out = append(out, p)
	}
	return out, nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func off(value string) string {
	if strings.EqualFold(value, "none") {
		return ""
	}
	return value
}

func port(stated int, configured string) (int, error) {
	if stated == 0 && configured == "" {
		return 22, nil
	}
	if stated == 0 {
		var err error
		if stated, err = strconv.Atoi(configured); err != nil {
			stated = -1
		}
	}
	if stated < 1 || stated > 65535 {
		return 0, configError("not a port", fmt.Sprintf("%q", first(configured, strconv.Itoa(stated))), "ports are 1 to 65535")
	}
	return stated, nil
}

// seconds reads a time as ssh_config writes it: 30, 30s, 1m30s. Zero means no
// limit to ssh(1); here it means the limit that always holds.
func seconds(s string, otherwise time.Duration) time.Duration {
	if s == "" {
		return otherwise
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	var total, n time.Duration
	digits := false
	for i := range len(s) {
		c := s[i] | 0x20
		switch unit, known := units[c]; {
		case s[i] >= '0' && s[i] <= '9' && n < 1<<30:
			n, digits = n*10+time.Duration(s[i]-'0'), true
		case known && digits:
			total, n, digits = total+n*unit, 0, false
		default:
			return otherwise
		}
	}
	if total += n * time.Second; total <= 0 {
		return otherwise
	}
	return total
}
