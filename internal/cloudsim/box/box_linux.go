package box

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/shell"
)

//go:embed init.sh
var initScript []byte

//go:embed nvidia-smi.sh
var smiScript []byte

//go:embed ill.sh
var illScript []byte

// tools are the programs that a box is made with.
var tools = []string{"sshd", "ssh-keygen", "ip", "unshare", "bash", "cp", "awk"}

// Here is why this machine cannot carry boxes, "" if it can.
func Here() string {
	if os.Getuid() != 0 {
		return "namespaces need root"
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil && !exists("/usr/sbin/"+tool) {
			return "this machine has no " + tool
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// boxes are those of this process.
type boxes struct {
	dir     string
	mu      sync.Mutex
	running map[*box]bool
	count   int // of boots
	closed  bool
}

// New makes a folder for boxes.
func New() (cloudsim.Machines, error) {
	if why := Here(); why != "" {
		return cloudsim.NoMachines{Why: why}, nil
	}
	dir, err := os.MkdirTemp("", "muster-boxes-")
	if err != nil {
		return nil, err
	}
	return &boxes{dir: dir, running: map[*box]bool{}}, nil
}

// Reachable is true.
func (bs *boxes) Reachable() (bool, string) { return true, "" }

// Close ends all boxes, and removes their files.
func (bs *boxes) Close() {
	bs.mu.Lock()
	bs.closed = true
	all := make([]*box, 0, len(bs.running))
	for b := range bs.running {
		all = append(all, b)
	}
	bs.mu.Unlock()
	for _, b := range all {
		b.Kill()
	}
	_ = os.RemoveAll(bs.dir) // leftovers are in the temporary directory
}

// A box is one machine.
type box struct {
	boxes *boxes
	spec  cloudsim.MachineSpec
	dir   string

	mu      sync.Mutex
	process *exec.Cmd // while it runs
	ended   chan struct{}
	address atomic.Pointer[string] // while it runs
	api     *http.Server
}

// New makes a box that is off.
func (bs *boxes) New(spec cloudsim.MachineSpec) (cloudsim.Machine, error) {
	return &box{boxes: bs, spec: spec, dir: filepath.Join(bs.dir, spec.Name)}, nil
}

// Start boots it.
func (b *box) Start(keys []string, script string, env []string) error {
	b.Kill()
	if err := b.disk(); err != nil {
		return fmt.Errorf("disk of %s: %w", b.spec.Name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.boxes.next(b)
	if err != nil {
		return err
	}
	here, there := addresses(n)
	var vars strings.Builder
	if b.spec.API != nil {
		env = append([]string{b.spec.URLVar + "=http://" + here}, env...)
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&vars, "%s=%s\n", name, shell.Quote(value))
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/uuid") // another one each time it boots
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"onstart": script, "box-environ": vars.String(), "boot_id": string(boot)} {
		if err := os.WriteFile(filepath.Join(b.dir, "etc", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := b.Authorize(keys); err != nil {
		return err
	}
	if err := b.boot(n, here, there); err != nil {
		return fmt.Errorf("boot %s: %w", b.spec.Name, err)
	}
	return nil
}

// next counts a boot: links and addresses of one that ended may be there for a
// moment yet.
func (bs *boxes) next(b *box) (int, error) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if bs.closed {
		return 0, errors.New("the boxes are closed")
	}
	bs.running[b] = true
	bs.count++
	return bs.count - 1, nil
}

// addresses are those of this machine and of a box on the link between them. Two
// processes with boxes meet in one of 8,000 cases.
func addresses(n int) (here, there string) {
	pid := os.Getpid()
	net := fmt.Sprintf("10.%d.%d", 64+pid%32, (pid/32+n/60)%250)
	return fmt.Sprintf("%s.%d", net, n%60*4+1), fmt.Sprintf("%s.%d", net, n%60*4+2)
}

// copyEtc copies /etc but for the files of network namespaces, which come and go with their hosts.
func copyEtc(to string) error {
	entries, err := os.ReadDir("/etc")
	if err != nil {
		return err
	}
	args := []string{"-a", "-t", to, "--"}
	for _, e := range entries {
		if e.Name() != "netns" {
			args = append(args, "/etc/"+e.Name())
		}
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	return run("cp", args...)
}

// disk makes the folders that a box may write, once.
func (b *box) disk() error {
	if exists(b.dir) {
		return nil
	}
	fresh := b.dir + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if b.spec.Kept != "" {
		if err := os.MkdirAll(b.kept(), 0o755); err != nil {
			return err
		}
	}
	if err := makeFolders(fresh); err != nil {
		return err
	}
	etc := filepath.Join(fresh, "etc")
	if err := copyEtc(etc); err != nil {
		return err
	}
	key := filepath.Join(etc, "ssh", "box_key")
	if err := run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key); err != nil {
		return err
	}
	users, err := b.users(fresh)
	if err != nil {
		return err
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return err
	}
	for path, text := range map[string]string{
		filepath.Join(etc, "passwd"):     users,
		filepath.Join(etc, "shadow"):     shadow(users),
		filepath.Join(etc, "machine-id"): strings.ReplaceAll(string(id), "-", ""),
		filepath.Join(etc, "ssh", "box_config"): "Port 22\nHostKey /etc/ssh/box_key\nAuthorizedKeysFile /etc/ssh/box_keys .ssh/authorized_keys\nAllowUsers " + b.user() + "\nPidFile none\nStrictModes no\nUsePAM no\nUseDNS no\n" +
			"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nPrintMotd no\nAcceptEnv LANG LC_*\nSetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games\nSubsystem sftp internal-sftp\n",
		filepath.Join(fresh, "bin", "gpus"): fmt.Sprintf("COUNT=%d\nMIB=%d\nNAME=%s\nUUID=GPU-%s\nDRIVER=%s\nCUDA=%s\nILL=%s\n", b.spec.GPUs, b.spec.GPUMiB, shell.Quote(b.spec.GPU), strings.TrimSpace(string(id))[:23],
			cmp.Or(b.spec.Driver, "570.124.06"), cmp.Or(b.spec.CUDA, "12.8"), b.spec.Ill),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(etc, "shadow"), 0o600); err != nil {
		return err
	}
	for name, text := range map[string][]byte{"nvidia-smi": smiScript, "dmesg": illScript, "df": illScript, "dd": illScript, "head": illScript} {
		if err := os.WriteFile(filepath.Join(fresh, "bin", name), text, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(etc, "box-init"), initScript, 0o755); err != nil {
		return err
	}
	return os.Rename(fresh, b.dir)
}

// shadow has no passwords; sshd without PAM refuses locked users.
func shadow(passwd string) string {
	var b strings.Builder
	for line := range strings.Lines(passwd) {
		name, _, _ := strings.Cut(line, ":")
		b.WriteString(name + ":*:19000:0:99999:7:::\n")
	}
	return b.String()
}

// makeFolders makes the folders of a machine's disk, with their modes.
func makeFolders(disk string) error {
	for name, mode := range map[string]os.FileMode{"root": 0o700, "home": 0o755, "srv": 0o755, "tmp": 0o777 | os.ModeSticky, "vartmp": 0o777 | os.ModeSticky, "bin": 0o755} {
		if err := os.MkdirAll(filepath.Join(disk, name), 0o755); err != nil {
			return err
		}
		if err := os.Chmod(filepath.Join(disk, name), mode); err != nil {
			return err
		}
	}
	return nil
}

func (b *box) user() string { return cmp.Or(b.spec.User, "root") }

// userID is that of the user, and of the user's group.
const userID = 1000

// users are those of this machine and the one that the box lets in, who gets a home.
func (b *box) users(fresh string) (string, error) {
	text, err := os.ReadFile("/etc/passwd")
	if err != nil || b.user() == "root" {
		return string(text), err
	}
	users := ""
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, ":"); f[0] != b.user() && f[2] != strconv.Itoa(userID) {
			users += line
		}
	}
	home := "/home/" + b.user()
	if err := os.Mkdir(filepath.Join(fresh, home), 0o755); err != nil {
		return "", err
	}
	return users + fmt.Sprintf("%s:x:%d:%d::%s:/bin/bash\n", b.user(), userID, userID, home), os.Chown(filepath.Join(fresh, home), userID, userID)
}

// boot starts its first process, and joins it to this machine.
func (b *box) boot(n int, here, there string) error {
	cmd := exec.Command("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", filepath.Join(b.dir, "etc", "box-init"), b.dir, b.spec.Name, there, b.spec.Kept)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	ended := make(chan struct{})
	started := make(chan error)
	go func() { // the death signal comes when the thread that started it ends
		started <- cmd.Start()
		if cmd.Process != nil {
			_ = cmd.Wait() // it is killed
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	b.process, b.ended = cmd, ended
	b.address.Store(&there)
	link := fmt.Sprintf("mb%x-%d", os.Getpid()&0xffff, n)
	child, err := firstChild(cmd.Process.Pid, ended)
	if err == nil {
		err = run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(child))
	}
	if err == nil {
		err = run("ip", "addr", "add", here+"/30", "dev", link)
	}
	if err == nil {
		err = run("ip", "link", "set", link, "up")
	}
	if err == nil {
		err = b.listens(ended)
	}
	if err != nil {
		b.end()
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	if b.spec.API != nil {
		l, err := net.Listen("tcp", here+":80")
		if err != nil {
			return err
		}
		b.api = &http.Server{Handler: b.spec.API, ReadHeaderTimeout: time.Minute}
		go func() { _ = b.api.Serve(l) }() // until it is closed
	}
	return nil
}

// patience is how long a machine that is busy may take for a step of a boot.
const patience = 2 * time.Minute

// firstChild is the process in the namespaces.
func firstChild(pid int, ended <-chan struct{}) (int, error) {
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			return 0, errors.New("its namespaces ended")
		default:
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if f := strings.Fields(string(text)); len(f) > 0 {
			return strconv.Atoi(f[0])
		}
	}
	return 0, errors.New("its namespaces did not come up")
}

// listens waits for sshd.
func (b *box) listens(ended <-chan struct{}) error {
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(20 * time.Millisecond) {
		select {
		case <-ended:
			return errors.New("its first process ended")
		default:
		}
		if c, err := net.DialTimeout("tcp", b.Address()+":22", time.Second); err == nil {
			c.Close()
			return nil
		}
	}
	return errors.New("its sshd does not listen")
}

// Authorize changes its user's keys.
func (b *box) Authorize(keys []string) error {
	return os.WriteFile(filepath.Join(b.dir, "etc", "ssh", "box_keys"), []byte(strings.Join(keys, "\n")+"\n"), 0o644)
}

// Dial connects to its sshd.
func (b *box) Dial(ctx context.Context) (net.Conn, error) {
	address := b.Address()
	if address == "" {
		return nil, errors.New("it is off")
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address+":22")
}

// Address is that of the box, on a link to this machine alone.
func (b *box) Address() string {
	if a := b.address.Load(); a != nil {
		return *a
	}
	return ""
}

// Kill ends everything on it.
func (b *box) Kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
}

func (b *box) end() {
	if b.process == nil {
		return
	}
	if b.api != nil {
		b.api.Close()
	}
	first := children(b.process.Process.Pid)
	_ = b.process.Process.Kill() // it may be gone; the kernel ends all of its pid space
	<-b.ended
	// The first process in that space ends last: until then others may still write.
	for limit := time.Now().Add(patience); slices.ContainsFunc(first, alive) && time.Now().Before(limit); {
		time.Sleep(5 * time.Millisecond)
	}
	b.process, b.api = nil, nil
	b.address.Store(nil)
	b.boxes.mu.Lock()
	delete(b.boxes.running, b)
	b.boxes.mu.Unlock()
}

// alive reports whether a process, by its folder in /proc, has not ended.
func alive(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "stat"))
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// children are the folders in /proc of a process's children.
func children(pid int) (folders []string) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // it may be gone
	for _, child := range strings.Fields(string(text)) {
		folders = append(folders, "/proc/"+child)
	}
	return folders
}

// kept is the folder behind Spec.Kept.
func (b *box) kept() string { return b.dir + ".kept" }

// Wipe deletes its disk except for the kept folder.
func (b *box) Wipe() {
	b.Kill()
	_ = os.RemoveAll(b.dir) // leftovers are in the temporary directory
}

// Remove deletes its disk, too.
func (b *box) Remove() {
	b.Wipe()
	_ = os.RemoveAll(b.kept()) // leftovers are in the temporary directory
}

func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
